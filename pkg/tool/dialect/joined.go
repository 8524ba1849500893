package dialect

import (
	"github.com/pa-tools/pa/pkg/export"
)

// A joiningReader reads requests whose values have no envelopes.
type joiningReader struct {
	export.Reader
	joined *joinedRequests
}

// Request returns the current request with the parts of its texts joined.
func (r *joiningReader) Request() *export.Request { return r.joined.current() }

// A joinedRequests joins the parts of the texts of each request once for all tools that read
// the requests in lockstep.
type joinedRequests struct {
	perTurn[*export.Request]
	request   export.Request
	responses []export.Response
	fields    []export.Field
	text      []byte
}

// current returns the current request without envelopes: the request of the source if it has
// none.
func (j *joinedRequests) current() *export.Request {
	return j.get(func() *export.Request { return j.join(j.source.Request()) })
}

func (j *joinedRequests) join(q *export.Request) *export.Request {
	size, fields := 0, 0
	for i := range q.Responses {
		for k := range q.Responses[i].Outputs {
			if v := &q.Responses[i].Outputs[k].Value; v.Envelope != nil {
				size += len(v.Envelope.Front) + len(v.Data) + len(v.Envelope.Back)
			}
			fields++
		}
	}
	if size == 0 {
		return q
	}
	if cap(j.text) < size {
		j.text = make([]byte, 0, size)
	}
	if cap(j.fields) < fields {
		j.fields = make([]export.Field, 0, fields)
	}
	j.request, j.text, j.fields = *q, j.text[:0], j.fields[:0]
	j.responses = append(j.responses[:0], q.Responses...)
	for i := range j.responses {
		outputs := &j.responses[i].Outputs
		if *outputs == nil { // no output, unlike an output without fields
			continue
		}
		first := len(j.fields)
		for _, f := range *outputs {
			if e := f.Value.Envelope; e != nil {
				from := len(j.text)
				j.text = append(append(append(j.text, e.Front...), f.Value.Data...), e.Back...)
				f.Value.Data, f.Value.Envelope = j.text[from:len(j.text):len(j.text)], nil
			}
			j.fields = append(j.fields, f)
		}
		*outputs = export.Fields(j.fields[first:len(j.fields):len(j.fields)])
	}
	j.request.Responses = j.responses
	return &j.request
}
