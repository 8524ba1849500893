package drive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Workload is what NewRequestSet encodes.
type Workload struct {
	Backend   backend.Backend
	Entries   workload.Source
	Order     workload.Order
	BatchSize int   // entries per request; 0 means 1. More needs a backend.Batcher.
	KeepBytes int64 // memory for requests that are ready to send
	// Marker marks each play of a session; nil: nothing does.
	Marker *workload.Marker
	// Identity returns what the requests of Sessions are made from, for their hash; nil for nothing.
	Identity func() string
}

// preparedRequest is one request of the workload, encoded and ready to send.
type preparedRequest struct {
	payload backend.Payload
	entry   *workload.Entry // source of the request (the first entry of a batch); its values are dropped
	bytes   int64           // approximate memory
}

// RequestSet holds the n distinct requests of a run. NewRequestSet encodes each of
// them once before the load starts, which finds mistakes in the data early and yields
// the data set's hash. If all of them fit in Workload.KeepBytes they stay in memory;
// otherwise each is encoded again shortly before it is sent. The requests of
// workload.Sessions are encoded when they are sent, since each may hold all of its history; see newSessionSet.
type RequestSet struct {
	Workload

	n          int
	kept       []preparedRequest // all n, or nil
	hash       string
	prompts    string            // hash of the prompts, see promptHash
	parameters map[string]string // beside the prompts
	sessions   workload.Sessions // see FindSessions
	plays      []uint32          // how often this process has played each session; nil before the first
	streamed   bool              // a request asks for a streamed response
	whole      bool              // a request asks for a response that is not streamed
}

// NewRequestSet encodes every distinct request once. With batches of B, request k holds
// the entries k·B to k·B+B−1 modulo their number N, which repeats after N/gcd(N, B)
// requests. The error is from reading or encoding an entry, or from ctx.
func NewRequestSet(ctx context.Context, w Workload) (*RequestSet, error) {
	if all, ok := w.Entries.(workload.Sessions); ok {
		return newSessionSet(ctx, w, all)
	}
	w.BatchSize = max(w.BatchSize, 1)
	s := &RequestSet{Workload: w}
	s.n = w.Entries.Len() / gcd(w.Entries.Len(), w.BatchSize)
	h, prompts := datasetHash{sha256.New()}, newPromptHash()
	var bytes int64
	for k := range s.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := s.encode(k)
		if err != nil {
			return nil, err
		}
		h.add(p.payload.Inputs())
		prompts.add(p.payload.Inputs())
		s.noteStreamed(p.payload)
		if bytes += p.bytes; bytes <= w.KeepBytes {
			s.kept = append(s.kept, p)
		} else {
			s.kept = nil
		}
	}
	s.finishHashes(h, prompts)
	return s, nil
}

// finishHashes adds the order to the hashes and sets the hashes of the set.
func (s *RequestSet) finishHashes(h datasetHash, prompts *promptHash) {
	if s.Order.Kind != workload.Sequential {
		h.order(s.Order)
		prompts.order(s.Order)
	}
	s.hash = hex.EncodeToString(h.Sum(nil))
	s.prompts, s.parameters = hex.EncodeToString(prompts.Sum(nil)), prompts.parameters
}

// noteStreamed notes whether a request asks for a streamed response.
func (s *RequestSet) noteStreamed(p backend.Payload) {
	if st, ok := p.(backend.Streamer); ok {
		s.streamed = s.streamed || st.Streamed()
		s.whole = s.whole || !st.Streamed()
	}
}

// Drop frees the requests that are kept in memory. They are then encoded again when they
// are needed.
func (s *RequestSet) Drop() { s.kept = nil }

// Len returns the number of distinct requests.
func (s *RequestSet) Len() int { return s.n }

// SHA256 returns the hash of the requests and their order, in hex.
func (s *RequestSet) SHA256() string { return s.hash }

// PromptsSHA256 returns the hash of what the model reads of the requests, in their order,
// in hex: without parameters such as the temperature.
func (s *RequestSet) PromptsSHA256() string { return s.prompts }

// Parameters returns the parameters of the requests that the model does not read, as
// compact JSON; "varies" for one that differs between requests. nil if there is none.
func (s *RequestSet) Parameters() map[string]string {
	if len(s.parameters) == 0 {
		return nil
	}
	return s.parameters
}

// Streamed returns true if all requests ask for a streamed response, false if none
// does, nil if they differ, and given if the backend does not know.
func (s *RequestSet) Streamed(given *bool) *bool {
	switch {
	case s.streamed && s.whole:
		return nil
	case s.streamed || s.whole:
		return &s.streamed
	}
	return given
}

// entry returns the first entry of request k.
func (s *RequestSet) entry(k int) (*workload.Entry, error) {
	if s.kept != nil {
		return s.kept[k].entry, nil
	}
	e, err := s.Entries.At(k * s.BatchSize % s.Entries.Len())
	return &e, err
}

// encode encodes request k.
func (s *RequestSet) encode(k int) (preparedRequest, error) {
	es := make([]*workload.Entry, s.BatchSize)
	for j := range es {
		e, err := s.Entries.At((k*s.BatchSize + j) % s.Entries.Len())
		if err != nil {
			return preparedRequest{}, err
		}
		es[j] = &e
	}
	p := preparedRequest{entry: es[0]}
	var err error
	if b, ok := s.Backend.(backend.Batcher); ok && s.BatchSize > 1 {
		p.payload, err = b.PrepareBatch(es)
	} else {
		p.payload, err = s.Backend.Prepare(es[0])
	}
	if err != nil {
		return preparedRequest{}, err
	}
	*p.entry = p.entry.Bare()
	p.bytes = 512
	for _, f := range p.payload.Inputs() {
		p.bytes += 2 * int64(len(f.Value.Data)) // as it is exported, and as it is sent
	}
	return p, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
