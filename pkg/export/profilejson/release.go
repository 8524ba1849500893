package profilejson

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// Minor numbers of the versions of perf_analyzer, 2.minor.0, that changed its
// export.
const (
	minorOutputs  = 44 // 24.03: response_outputs, strings with their length
	minorInputs   = 45 // 24.04: request_inputs; no lengths
	minorService  = 46 // 24.05: service_kind, endpoint
	minorNumbers  = 49 // 24.08: tensors as numbers; no version
	minorLengths  = 52 // 24.11: strings with their length again
	minorNoLength = 54 // 25.01
)

// hasLengths reports whether strings of tensors begin with their length.
func hasLengths(minor int) bool {
	return minor == minorOutputs || minor >= minorLengths && minor < minorNoLength
}

// A ReleaseWriter writes profile_export.json as a release of perf_analyzer did:
// with the members that it had and without "pa", for programs that know that
// release. Requests that it would not have exported are left out.
//
// Parts that later releases write differently have the form of the release, as far as the
// run has the values. No file has the types of its tensors. Before 24.08, a number in the
// outputs was the bytes of the tensor; the writer writes "" instead. A number in the inputs
// was the first element of an INT32; the writer takes whole numbers that fit for INT32 and
// writes null for others. Warnings counts both.
type ReleaseWriter struct {
	w     *Writer
	minor int
	// lengths reports that the strings of the run begin with their length.
	lengths bool
	service bool // the outputs are events, which never have lengths

	req       export.Request
	inputs    export.Fields
	responses []export.Response
	outputs   []export.Field

	left, numbers, others, extra int
}

var _ export.Writer = (*ReleaseWriter)(nil)

// NewReleaseWriter returns a writer of run to w in the layout of version
// 2.minor.0.
func NewReleaseWriter(w io.Writer, minor int, run *export.Run) *ReleaseWriter {
	r := &ReleaseWriter{w: NewWriter(w), minor: minor}
	if run.Meta == nil && run.Version != nil {
		var recorded int
		if _, err := fmt.Sscanf(*run.Version, "2.%d.", &recorded); err == nil {
			r.lengths = hasLengths(recorded)
		}
	}
	r.service = run.ServiceKind != nil && *run.ServiceKind != "triton" && *run.ServiceKind != ""
	return r
}

// Warnings names the data that the release cannot hold.
func (r *ReleaseWriter) Warnings() []error {
	var all []error
	for _, w := range []struct {
		n         int
		one, what string
	}{
		{r.left, "request", "left out: %s that perf_analyzer would not have exported (warm-up, failed, cancelled or late)"},
		{r.numbers, "output", "left empty: %s of numbers; this release wrote the bytes of the tensor, whose type no file says"},
		{r.others, "input", "cut or null: %s; this release wrote the first element of an INT32, a BOOL or a text"},
		{r.extra, "member", "left out: %s that this release did not write"},
	} {
		if w.n > 0 {
			all = append(all, fmt.Errorf(w.what, plural.Of(w.n, w.one)))
		}
	}
	return all
}

// BeginExperiment implements [export.Writer].
func (r *ReleaseWriter) BeginExperiment(mode, value string) error {
	return r.w.BeginExperiment(mode, value)
}

// WriteRequest implements [export.Writer].
func (r *ReleaseWriter) WriteRequest(q *export.Request) error {
	if q.Excluded() != export.NotExcluded {
		r.left++
		return nil
	}
	r.extra += len(q.Extra)
	r.req = export.Request{StartNS: q.StartNS, SequenceID: q.SequenceID, Inputs: q.Inputs, Responses: q.Responses, NoOutputs: q.NoOutputs}
	if r.minor < minorInputs {
		r.req.Inputs = nil
	} else if r.minor < minorNumbers {
		r.oldInputs(q)
	}
	switch {
	case r.minor < minorOutputs:
		r.req.NoOutputs = true
	case r.minor < minorNumbers || !r.service && hasLengths(r.minor) != r.lengths:
		r.oldOutputs(q)
	}
	return r.w.WriteRequest(&r.req)
}

// oldInputs writes inputs as 24.04 to 24.07 did.
func (r *ReleaseWriter) oldInputs(q *export.Request) {
	if q.Inputs == nil {
		return
	}
	r.inputs = append(r.inputs[:0], q.Inputs...)
	for i := range r.inputs {
		v := &r.inputs[i].Value
		if v.Text {
			continue
		}
		text := string(v.Data)
		if text == "true" || text == "false" || text == "null" {
			continue
		}
		first, _, isArray := strings.Cut(strings.TrimPrefix(text, "["), ",")
		first = strings.TrimSuffix(first, "]")
		if _, err := strconv.ParseInt(first, 10, 32); err != nil {
			v.Data = []byte("null")
			r.others++
			continue
		}
		if isArray {
			r.others++
		}
		v.Data = []byte(first)
	}
	r.req.Inputs = r.inputs
}

// oldOutputs writes outputs with or without lengths, and before 24.08 no
// numbers.
func (r *ReleaseWriter) oldOutputs(q *export.Request) {
	r.responses, r.outputs = append(r.responses[:0], q.Responses...), r.outputs[:0]
	for i := range q.Responses { // room first: the slices below must not move
		r.outputs = append(r.outputs, q.Responses[i].Outputs...)
	}
	at := 0
	for i := range r.responses {
		n := len(q.Responses[i].Outputs)
		if q.Responses[i].Outputs == nil {
			continue
		}
		fields := r.outputs[at : at+n : at+n]
		at += n
		for k := range fields {
			r.output(&fields[k].Value)
		}
		r.responses[i].Outputs = fields
	}
	r.req.Responses = r.responses
}

func (r *ReleaseWriter) output(v *export.Value) {
	if !v.Text {
		if r.minor < minorNumbers {
			if string(v.Data) != "0" { // later releases write 0 for no value
				r.numbers++
			}
			*v = export.Value{Text: true}
		}
		return
	}
	if r.service || hasLengths(r.minor) == r.lengths || len(v.Data) == 0 {
		return
	}
	if r.lengths {
		if data, ok := export.StripLengthPrefix(v.Data); ok {
			v.Data = data
		}
		return
	}
	v.Data = append(binary.LittleEndian.AppendUint32(nil, firstString(v.Data)), v.Data...)
}

// firstString returns the length of the first string of a tensor. The other strings begin
// with their length in every release.
//
// It reads from the end: a length that leads to the end, or to a string that does, begins a string.
func firstString(data []byte) uint32 {
	first := len(data)
	leads := make([]bool, len(data)+1) // by position
	leads[first] = true
	for at := len(data) - 4; at >= 0; at-- {
		rest := data[at+4:]
		n := binary.LittleEndian.Uint32(data[at:])
		if uint64(n) <= uint64(len(rest)) && leads[at+4+int(n)] {
			leads[at], first = true, at
		}
	}
	return uint32(first)
}

// EndExperiment implements [export.Writer].
func (r *ReleaseWriter) EndExperiment(e *export.Experiment) error {
	r.extra += len(e.Extra)
	return r.w.EndExperiment(&export.Experiment{WindowBoundaries: e.WindowBoundaries})
}

// WriteScrape implements [export.Writer]: no release holds telemetry.
func (r *ReleaseWriter) WriteScrape(*export.Scrape) error { return nil }

// Close implements [export.Writer].
func (r *ReleaseWriter) Close(run *export.Run) error {
	if run == nil {
		return r.w.Close(nil)
	}
	r.extra += len(run.Extra)
	version := fmt.Sprintf("2.%d.0", r.minor)
	if r.minor == minorNumbers {
		version = ""
	}
	out := &export.Run{Version: &version}
	if r.minor >= minorService {
		out.ServiceKind, out.Endpoint = orEmpty(run.ServiceKind), orEmpty(run.Endpoint)
	}
	return r.w.Close(out)
}

func orEmpty(s *string) *string {
	if s == nil {
		return new(string)
	}
	return s
}
