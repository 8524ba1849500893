package drive

import (
	"context"
	"crypto/sha256"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// mostChecked and mostCheckedBytes bound the requests of sessions that are encoded before the load.
const (
	mostChecked      = 100
	mostCheckedBytes = 64 << 20
)

// newSessionSet returns the set of the requests of sessions. Their hashes are made of the identity of the data, the outlines of the
// sessions, and the first request of each of the first sessions, which alone are encoded before the load: all requests could take
// gigabytes. A mistake in another request shows when it is sent.
func newSessionSet(ctx context.Context, w Workload, all workload.Sessions) (*RequestSet, error) {
	w.BatchSize = 1
	s := &RequestSet{Workload: w, n: all.Len(), sessions: all}
	h, prompts := datasetHash{sha256.New()}, newPromptHash()
	for _, one := range []datasetHash{h, prompts.datasetHash} {
		identity := ""
		if w.Identity != nil {
			identity = w.Identity()
		}
		one.part([]byte("sessions"))
		one.part([]byte(identity))
		for k := range all.Sessions() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			o := all.Outline(k)
			one.part([]byte(o.ID))
			one.number(uint64(o.Requests)) //nolint:gosec // not negative
		}
	}
	bytes := 0
	for k := 0; k < min(all.Sessions(), mostChecked) && bytes < mostCheckedBytes; k++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := s.encodeFirst(k)
		if err != nil {
			return nil, err
		}
		h.add(p.Inputs())
		prompts.add(p.Inputs())
		s.noteStreamed(p)
		for _, f := range p.Inputs() {
			bytes += len(f.Value.Data)
		}
	}
	s.finishHashes(h, prompts)
	return s, nil
}

// encodeFirst encodes the first request of session k.
func (s *RequestSet) encodeFirst(k int) (backend.Payload, error) {
	one, err := s.sessions.Open(k)
	if err != nil {
		return nil, err
	}
	e, err := one.Entry(0)
	if err != nil {
		return nil, err
	}
	if b, ok := s.Backend.(backend.Conversational); ok {
		return b.NewConversation().Turn(&e)
	}
	return s.Backend.Prepare(&e)
}
