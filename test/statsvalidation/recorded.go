package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/export"
)

// firstTokenMS and paceMS are the time to the first token and the time per token of a recorded run
// without deviation, in milliseconds.
const (
	firstTokenMS = 100
	paceMS       = 10
)

// A recorded is how a run for package diff is made: requests one after the other at each level, with
// four tokens each.
type recorded struct {
	second   int // of the start
	levels   []servedLevel
	requests int     // at each level
	failing  float64 // probability that a request fails
	// series is set if the requests of a run deviate, as single runs need.
	series bool
}

// A servedLevel has the factors of the time to the first token and of the time per token at a level.
type servedLevel struct{ firstToken, pace float64 }

// slower returns the level with first tokens that take longer by a change.
func (l servedLevel) slower(change float64) servedLevel {
	l.firstToken *= 1 + change
	return l
}

// levelName names the load of a level.
func levelName(level int) string { return fmt.Sprint(1 << level) }

// run makes the run and reads it.
func (x recorded) run(rng *rand.Rand) *diff.Run {
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	r := &memrun.Reader{Header: export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{
		Schema: export.Schema, Tool: "pa-record 0.1.0", Model: "tiny", Streaming: &streaming,
	}}}
	now := uint64(1_700_000_000+x.second) * 1e9
	take := func(ms, logSD float64) uint64 {
		if x.series {
			ms *= math.Exp(logSD * rng.NormFloat64())
		}
		return uint64(1e6 * ms)
	}
	for i, l := range x.levels {
		all := make([]export.Request, x.requests)
		for k := range all {
			q := &all[k]
			*q = export.Request{ID: uint64(k), StartNS: now, StartSource: export.SourceKernel, HasMeta: true, Status: export.StatusOK, Phase: export.PhaseMeasured}
			now += take(firstTokenMS*l.firstToken, latencyLogSD)
			if x.failing > 0 && rng.Float64() < x.failing {
				q.Status, q.FailedNS = export.StatusTimeout, now
				continue
			}
			pace := take(paceMS*l.pace, jitterLogSD)
			for token := range 4 {
				if token > 0 {
					now += pace
				}
				q.Responses = append(q.Responses, export.Response{RecvNS: now, Source: export.SourceKernel, Outputs: export.Fields{{
					Name: "response", Value: export.Text(`data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"),
				}}})
			}
		}
		r.Header.Experiments = append(r.Header.Experiments, export.Experiment{Mode: export.ModeConcurrency, Value: levelName(i), Meta: &export.ExperimentMeta{}})
		r.Requests = append(r.Requests, all)
	}
	run, err := diff.Read(context.Background(), fmt.Sprint("run ", x.second), r, analyze.Config{Series: x.series})
	if err != nil {
		panic(err) // a run in memory can be read
	}
	return run
}
