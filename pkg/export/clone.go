package export

import "bytes"

// Clone returns a copy of r that shares no memory with it, so that it stays valid after
// the reader's next call of Next. nil stays nil, and empty stays empty.
func (r *Request) Clone() *Request {
	c := *r
	c.Inputs = r.Inputs.Clone()
	c.Extra = r.Extra.Clone()
	c.Stated = r.Stated.Clone()
	if r.Summary != nil {
		summary := *r.Summary
		c.Summary = &summary
	}
	if r.Responses != nil {
		c.Responses = make([]Response, len(r.Responses))
		for i := range r.Responses {
			c.Responses[i] = r.Responses[i]
			c.Responses[i].Outputs = r.Responses[i].Outputs.Clone()
		}
	}
	return &c
}

// Clone returns a copy of f that shares no memory with it.
func (f Fields) Clone() Fields {
	if f == nil {
		return nil
	}
	c := make(Fields, len(f))
	for i := range f {
		c[i] = f[i]
		c[i].Value.Data = bytes.Clone(f[i].Value.Data)
	}
	return c
}
