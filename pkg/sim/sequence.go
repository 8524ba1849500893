package sim

import (
	"encoding/binary"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/pa-tools/pa/pkg/wire/kserve"
)

// A sequenceStep is the position of a request in a sequence, from its parameters.
type sequenceStep struct {
	id         uint64
	start, end bool
}

// stepOf reads a sequenceStep from parameters.
func stepOf(params []kserve.Param) (s sequenceStep) {
	for _, p := range params {
		switch p.Name {
		case kserve.ParamSequenceID:
			switch v := p.Value.(type) {
			case int64:
				s.id = uint64(v)
			case uint64:
				s.id = v
			case float64:
				s.id = uint64(v)
			}
		case kserve.ParamSequenceStart:
			s.start, _ = p.Value.(bool)
		case kserve.ParamSequenceEnd:
			s.end, _ = p.Value.(bool)
		}
	}
	return s
}

// sequences holds the live sequences of a model and their sums.
type sequences struct {
	mu   sync.Mutex
	sums map[uint64]int32
}

// add applies the next step of a sequence and returns the sum. A step out of order is an
// error.
func (q *sequences) add(model string, s sequenceStep, value int32) (int32, *tritonError) {
	bad := func(format string, args ...any) (int32, *tritonError) {
		return 0, tritonErrorf(codes.InvalidArgument, "model '"+model+"': "+format, args...)
	}
	if s.id == 0 {
		return bad("a request must give its sequence_id, which is not 0")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	sum, live := q.sums[s.id]
	switch {
	case s.start && live:
		return bad("sequence %d has begun and not ended, but sequence_start is set", s.id)
	case !s.start && !live:
		return bad("sequence %d must set sequence_start in its first request", s.id)
	}
	sum += value
	if q.sums == nil {
		q.sums = map[uint64]int32{}
	}
	q.sums[s.id] = sum
	if s.end {
		delete(q.sums, s.id)
	}
	return sum, nil
}

// planSequence computes the answer of a Sequence model. The order of arrival counts.
func (s *Server) planSequence(j *job, inputs []kserve.Tensor) error {
	sum, terr := s.sequences[j.model.Name].add(j.model.Name, j.step, int32(binary.LittleEndian.Uint32(inputs[0].Data)))
	if terr != nil {
		return terr
	}
	j.outputs = []kserve.Tensor{{
		Name: "OUTPUT", Datatype: kserve.INT32, Shape: []int64{j.batch, 1}, Data: binary.LittleEndian.AppendUint32(nil, uint32(sum)),
	}}
	return nil
}
