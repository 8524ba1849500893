package pawindow

import (
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Times adds up the phases of requests. The zero value is empty.
type Times struct {
	n                      uint64
	request, send, receive uint64 // ns
	unknown                bool   // the times of a request are unknown
}

// Add adds a request that has a response.
func (t *Times) Add(r *export.Request) {
	last := r.Responses[len(r.Responses)-1].RecvNS
	if r.SentNS < r.StartNS || r.FirstByteNS < r.StartNS || last < r.FirstByteNS {
		t.unknown = true
		return
	}
	t.n++
	t.request += last - r.StartNS
	t.send += r.SentNS - r.StartNS
	t.receive += last - r.FirstByteNS
}

// Merge adds the requests of o.
func (t *Times) Merge(o *Times) {
	t.n += o.n
	t.request += o.request
	t.send += o.send
	t.receive += o.receive
	t.unknown = t.unknown || o.unknown
}

// MeanTimes are the means of [Times].
type MeanTimes struct {
	// Request is the time from the first sent byte to the last response, also a null
	// one. Send ends at the last sent byte. Receive begins at the first byte of the
	// answer.
	Request, Send, Receive time.Duration
}

// Means returns the mean times; nil when there was no request, or when the times of one
// are unknown.
func (t *Times) Means() *MeanTimes {
	if t.n == 0 || t.unknown {
		return nil
	}
	return &MeanTimes{Request: time.Duration(t.request / t.n), Send: time.Duration(t.send / t.n), Receive: time.Duration(t.receive / t.n)}
}
