package sim

import (
	"sync"
	"time"

	pb "github.com/pa-tools/pa/internal/kserve"
)

// modelStats counts the requests of a model. It is a requestCounter.
type modelStats struct {
	sync.Mutex
	modelCounts
}

// modelCounts are the counters of a model.
type modelCounts struct {
	success, fail, cancelled uint64        // fail includes the cancelled requests
	inferences               uint64        // sum of the batches of successful requests
	queue, compute           time.Duration // of successful requests
	failed                   time.Duration
	last                     time.Time
}

func (st *modelStats) counts() modelCounts {
	st.Lock()
	defer st.Unlock()
	return st.modelCounts
}

// Ended implements requestCounter.
func (st *modelStats) Ended(r *ledgerRecord) {
	e := r.Entry()
	if e.End != EndOK {
		st.fail++
		if e.End == EndClientGone {
			st.cancelled++
		}
		st.failed += between(e.ReceivedNS, e.EndedNS)
		return
	}
	st.success++
	st.inferences += uint64(max(1, r.Batch))
	st.queue += between(e.ReceivedNS, e.StartedNS)
	st.compute += between(e.StartedNS, e.EndedNS)
	st.last = time.Unix(0, int64(e.EndedNS))
}

// setCounter makes the statistics of the model count the request when it ends.
func (s *Server) setCounter(model string, r *ledgerRecord) {
	if st := s.stats[model]; st != nil {
		r.Counter = st
	}
}

// message returns the statistics in the form of the gRPC API.
func (st *modelStats) message(name string) *pb.ModelStatistics {
	c := st.counts()
	duration := func(n uint64, d time.Duration) *pb.StatisticDuration {
		return &pb.StatisticDuration{Count: n, Ns: uint64(max(0, d))}
	}
	m := &pb.ModelStatistics{
		Name: name, Version: modelVersion, InferenceCount: c.inferences, ExecutionCount: c.success,
		InferenceStats: &pb.InferStatistics{
			Success: duration(c.success, c.queue+c.compute), Fail: duration(c.fail, c.failed),
			Queue: duration(c.success, c.queue), ComputeInput: duration(c.success, 0),
			ComputeInfer: duration(c.success, c.compute), ComputeOutput: duration(c.success, 0),
			CacheHit: duration(0, 0), CacheMiss: duration(0, 0),
		},
	}
	if !c.last.IsZero() {
		m.LastInference = uint64(c.last.UnixMilli())
	}
	return m
}
