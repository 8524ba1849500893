package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// A Steady describes the steady state of a closed loop: the time from when the
// number of requests in flight first reaches Threshold to when it last falls
// below, or the level ends. All requests of the level count as in flight,
// warm-up and late ones too; one that ends when another starts makes room
// first. vllm-bench defines it so.
type Steady struct {
	Concurrency int
	Threshold   int // 95 % of Concurrency, rounded up, at least 1
	Peak        int // the most in flight, warm-up left out
	// AtPlateau is the share of the time with Threshold or more requests in flight. It
	// is below 1 because of the moments between the end of a request and the start of
	// the next one in the same slot, and because of pauses.
	AtPlateau float64
}

// A steady state shorter than steadyShortest, or than steadyLeastShare of the level, has
// a warning. So has one with less than steadyLeastPlateau of its time at the plateau.
const (
	steadyShortest     = 10 * time.Second
	steadyLeastShare   = 0.1
	steadyLeastPlateau = 0.9
)

// steady shortens s to the steady state.
func (s *Selected) steady(e *export.Experiment, points eachPoint) error {
	users := concurrency(e)
	if users < 1 || users > math.MaxInt32 {
		return fmt.Errorf("%s holds no number of requests in flight, so it has no steady state; --window or --trim-start select a part", strings.ReplaceAll(e.Mode, "_", " ")+" "+e.Value)
	}
	x := &Steady{Concurrency: int(users)}
	x.Threshold = threshold(x.Concurrency)
	starts, ends := flights(points)
	inFlight, j := 0, 0
	up, down := uint64(0), uint64(0) // first and last crossing; 0: none yet
	since, plateau := uint64(0), uint64(0)
	// leave takes out all that ended until t.
	leave := func(t uint64) {
		for ; j < len(ends) && ends[j] <= t; j++ {
			if inFlight == x.Threshold && ends[j] > s.Level.FromNS {
				if up == 0 { // reached by warm-up requests that are still there
					up = s.Level.FromNS
				}
				down = min(ends[j], s.Level.ToNS)
				if from := max(since, s.Level.FromNS); from < down {
					plateau += down - from
				}
			}
			inFlight--
		}
	}
	for _, t := range starts {
		leave(t)
		if inFlight++; inFlight == x.Threshold {
			since = t
			if up == 0 && t >= s.Level.FromNS {
				up = t
			}
		}
		if t >= s.Level.FromNS {
			x.Peak = max(x.Peak, inFlight)
		}
	}
	leave(math.MaxUint64)
	if up == 0 || down <= up {
		return fmt.Errorf("never in a steady state: at most %d of %d requests in flight, and %d are needed (95%%)", x.Peak, x.Concurrency, x.Threshold)
	}
	s.Span = Span{up, down}
	x.AtPlateau = float64(plateau) / float64(down-up)
	s.Steady = x
	return nil
}

// flights returns the starts and the ends of the requests, each in order. Requests that
// took no time are left out.
func flights(points eachPoint) (starts, ends []uint64) {
	points(func(p *Point) bool {
		if p.PlaceNS != 0 && p.EndNS > p.PlaceNS {
			starts = append(starts, p.PlaceNS)
			ends = append(ends, p.EndNS)
		}
		return true
	})
	slices.Sort(starts)
	slices.Sort(ends)
	return starts, ends
}

// warnings returns the reasons to distrust the part.
func (s *Selected) warnings() []*Unsteady {
	var w []*Unsteady
	if s.Steady == nil {
		return nil
	}
	if d, share := s.Duration(), s.Duration().Seconds()/s.Level.Duration().Seconds(); d < steadyShortest || share < steadyLeastShare {
		of := about(d) + " of " + about(s.Level.Duration())
		w = append(w, &Unsteady{Brief: "steady for only " + of, text: "the steady state is short: " + of + "; 10s and a tenth of the level are the least to rely on"})
	}
	if s.Steady.AtPlateau < steadyLeastPlateau {
		what := fmt.Sprintf("%d or more requests were in flight for only %.1f%% of the steady state", s.Steady.Threshold, 100*s.Steady.AtPlateau)
		w = append(w, &Unsteady{Brief: what, text: what + ": the load paused, or slots took long to send again"})
	}
	return w
}
