package trend

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

func TestSteps(t *testing.T) {
	values := func(x ...float64) []float64 { return x }
	level := values(100, 101, 99, 100.5, 99.5, 100, 101, 99, 100.2, 99.8, 99.4, 100.6, 100.3, 99.7, 100.1, 99.9, 100.8, 99.2)
	for _, tt := range []struct {
		name   string
		values []float64
		at     []int
	}{
		{"steady", values(100, 101, 99, 100.5, 99.5, 100, 101, 99), nil},
		{"one step", values(100, 101, 99, 100.5, 110, 111, 109, 110.5), []int{4}},
		{"up and down", values(100, 101, 99, 100.5, 120, 121, 119, 120.5, 100, 101, 99, 100.5), []int{4, 8}},
		{"one point is off", values(100, 101, 99, 100.5, 120, 99.5, 100, 101, 99), nil},
		{"the last two", append(slices.Clone(level), 110, 111), []int{18}},
		{"the first two", append(values(110, 111), level...), []int{2}},
		{"the last one", append(slices.Clone(level), 110), nil},
		{"two in the middle", values(100, 101, 99, 100.5, 99.5, 120, 121, 100, 101, 99, 100.2, 99.8, 100.1, 99.9), []int{5, 7}},
		{"too few", values(100, 101, 99, 110, 111), nil},
	} {
		steps := stepsOf(tt.values, 1)
		if len(steps) != len(tt.at) {
			t.Errorf("%s: %+v, want steps at %v", tt.name, steps, tt.at)
			continue
		}
		for i, s := range steps {
			if s.At != tt.at[i] || s.P > alpha || s.Interval.Contains(0) || !s.Interval.Contains(s.Change) {
				t.Errorf("%s: %+v, want a step at %d", tt.name, s, tt.at[i])
			}
		}
	}
	one := stepsOf(values(100, 101, 99, 100.5, 110, 111, 109, 110.5), 1)[0]
	if math.Abs(one.Change-0.0999) > 0.001 {
		t.Errorf("a step of %v, want about 10 %%", one.Change)
	}
	if steps := stepsOf(values(100, 101, 99, 103, 102, 104), 1000); steps != nil {
		t.Errorf("%+v of a thousand series", steps)
	}
}

// Without a step, one is found in at most 5 % of the histories; the bound is three
// standard errors. A step of three deviations is found in most.
func TestStepsBySimulation(t *testing.T) {
	histories := 8000 / testenv.Stride(40)
	random := rand.New(rand.NewPCG(1, 2))
	for _, points := range []int{6, 12, 30} {
		found, detected := 0, 0
		for range histories {
			x := make([]float64, points)
			for i := range x {
				x[i] = math.Exp(0.01 * random.NormFloat64())
			}
			if stepsOf(x, 1) != nil {
				found++
			}
			for i := points / 2; i < points; i++ {
				x[i] *= 1.03
			}
			if stepsOf(x, 1) != nil {
				detected++
			}
		}
		n := float64(histories)
		if most := alpha + 3*math.Sqrt(alpha*(1-alpha)/n); float64(found)/n > most {
			t.Errorf("%d points: a step is found in %.1f %% of the steady histories", points, 100*float64(found)/n)
		}
		if least := map[int]float64{6: 0.2, 12: 0.85, 30: 0.99}[points]; float64(detected)/n < least-3*math.Sqrt(0.25/n) {
			t.Errorf("%d points: a true step is found in only %.1f %%", points, 100*float64(detected)/n)
		}
	}
}

// The interval of a step with two points after it holds the true change, and the step begins at
// the first of them. A single point that is off, however far, is no step.
func TestShortStepsBySimulation(t *testing.T) {
	histories := 600 / testenv.Stride(6)
	random := rand.New(rand.NewPCG(5, 6))
	const points, change = 20, 0.1
	history := func(points, last int, change float64) []float64 {
		x := make([]float64, points)
		for i := range x {
			x[i] = 100 * math.Exp(0.01*random.NormFloat64())
			if i >= points-last {
				x[i] *= 1 + change
			}
		}
		return x
	}
	found, placed, missed, single := 0, 0, 0, 0
	for range histories {
		if steps := stepsOf(history(points, 2, change), 4); steps != nil {
			found++
			s := steps[len(steps)-1]
			if s.At == points-2 {
				placed++
			}
			if !s.Interval.Contains(change) {
				missed++
			}
		}
		if stepsOf(history(3*points, 1, 0.3), 4) != nil {
			single++
		}
	}
	n := float64(found)
	if found < histories/2 || float64(placed) < 0.95*n {
		t.Errorf("the last two points: %d steps in %d histories, %d at the right place", found, histories, placed)
	}
	if most := 0.07 + 3*math.Sqrt(0.07*0.93/n); float64(missed)/n > most {
		t.Errorf("the last two points: %d of %d intervals miss the change", missed, found)
	}
	if most := alpha + 3*math.Sqrt(alpha*(1-alpha)/float64(histories)); float64(single)/float64(histories) > most {
		t.Errorf("a single point that is off: a step in %d of %d histories", single, histories)
	}
}

// The prediction interval of a further point holds the point in 95 of 100 cases.
func TestPredictionBySimulation(t *testing.T) {
	const trials = 2000
	random := rand.New(rand.NewPCG(3, 4))
	for _, k := range []int{3, 5, 10} {
		missed := 0
		for range trials {
			var r Judged
			day := func() float64 { return 100 * math.Exp(0.02*random.NormFloat64()) }
			for range k {
				r.Accepted = append(r.Accepted, day())
			}
			r.New = day()
			r.P = math.NaN()
			r.predict()
			i := r.interval(confidence)
			if (r.P <= alpha) != !i.Contains(0) {
				t.Fatalf("p %v, interval %v", r.P, i)
			}
			if !i.Contains(0) {
				missed++
			}
		}
		if rate := float64(missed) / trials; math.Abs(rate-alpha) > 3*math.Sqrt(alpha*(1-alpha)/trials) {
			t.Errorf("%d accepted points: %.1f %% of equal points are found different", k, 100*rate)
		}
	}
	r := Judged{Accepted: []float64{100, 100, 100}, New: 101, Interval: inference.Interval{Low: math.NaN(), High: math.NaN()}}
	if r.predict(); r.NA != "all 3 accepted points are equal, so it is unknown how much points differ" {
		t.Errorf("%q", r.NA)
	}
}

// A new point of fewer runs than the accepted ones has an interval that is as much wider.
func TestPredictionOfFewerRuns(t *testing.T) {
	const trials = 2000
	random := rand.New(rand.NewPCG(7, 8))
	for _, tt := range []struct{ day, run float64 }{{0.01, 0.02}, {0, 0.02}, {0.02, 0}} {
		missed := 0
		for range trials {
			point := func(runs int) float64 {
				return 100 * math.Exp(tt.day*random.NormFloat64()+tt.run*random.NormFloat64()/math.Sqrt(float64(runs)))
			}
			r := Judged{New: point(1), runs: spreadOfRuns{variance: tt.run * tt.run, usual: 5, n: 1}}
			for range 10 {
				r.Accepted = append(r.Accepted, point(5))
			}
			if r.predict(); r.P <= alpha {
				missed++
			}
		}
		if rate := float64(missed) / trials; rate > alpha+3*math.Sqrt(alpha*(1-alpha)/trials) {
			t.Errorf("%+v: %.1f %% of equal points of one run are found different", tt, 100*rate)
		}
	}
}

// A history is builds that are accepted one after the other, with four metrics.
type history struct {
	accepted [4][]float64
	total    int
}

// judge judges a build with the last 10 accepted points, and accepts it as --accept does.
func (h *history) judge(t *testing.T, next [4]float64) Answer {
	t.Helper()
	j := &Judgement{Set: &diff.Set{}, JudgeOptions: JudgeOptions{Margin: 0.05}, Levels: []*JudgedLevel{{Group: &diff.Group{}}}}
	for m, v := range next {
		last := h.accepted[m][max(0, len(h.accepted[m])-10):]
		r := &Judged{Metric: diff.Metrics[0], Accepted: last, New: v, Mean: inference.MeanOfRuns(last), P: math.NaN()}
		r.Change = r.New/r.Mean - 1
		r.judge()
		j.Levels[0].Rows = append(j.Levels[0].Rows, r)
	}
	j.Accepted = make([]Point, min(h.total, 10))
	j.adjust()
	if err := j.Refusal(h.total < BurnIn, false); err == nil {
		h.total++
		for m, v := range next {
			h.accepted[m] = append(h.accepted[m], v)
		}
	} else if j.Answer() != Worse {
		t.Errorf("a build that is not worse was not accepted: %v", err)
	}
	return j.Answer()
}

// Equal builds are found worse in at most 5 % of all judgements, in each phase of a baseline, and
// the baseline begins. A build that is slower is still found.
func TestGateBySimulation(t *testing.T) {
	histories := 1000 / testenv.Stride(10)
	const builds, runs = 20, 5
	random := rand.New(rand.NewPCG(9, 10))
	for _, tt := range []struct {
		day, run  float64
		five, ten float64 // least share of slower builds that are found
	}{{0, 0.01, 0.99, 0.99}, {0.01, 0.01, 0.95, 0.99}, {0.02, 0.005, 0.5, 0.95}, {0.01, 0, 0.95, 0.99}} {
		type phase struct {
			name           string
			failed, judged int
		}
		phases := []*phase{{name: "below 3 points"}, {name: "3 or 4 points"}, {name: "5 points and more"}}
		var found [2]int
		for range histories {
			var h history
			build := func(change float64) (values [4]float64) {
				// Metrics of a run depend on each other.
				day, run := random.NormFloat64(), random.NormFloat64()
				for m := range values {
					day, run := 0.8*day+0.6*random.NormFloat64(), 0.8*run+0.6*random.NormFloat64()
					values[m] = 100 * (1 + change) * math.Exp(tt.day*day+tt.run*run/math.Sqrt(runs))
				}
				return values
			}
			for range builds {
				p := phases[0]
				switch {
				case h.total >= BurnIn:
					p = phases[2]
				case h.total >= minPerSide:
					p = phases[1]
				}
				answer := h.judge(t, build(0))
				p.judged++
				if answer == Worse {
					p.failed++
				}
				if (p == phases[0]) && answer != CannotTell {
					t.Fatalf("%v with %d points", answer, h.total)
				}
			}
			for i, change := range []float64{0.05, 0.1} {
				if h := h; h.judge(t, build(change)) == Worse {
					found[i]++
				}
			}
		}
		for _, p := range phases {
			n := float64(p.judged)
			if rate := float64(p.failed) / n; rate > alpha+3*math.Sqrt(alpha*(1-alpha)/n) {
				t.Errorf("%+v: %s: %d of %d equal builds fail", tt, p.name, p.failed, p.judged)
			}
		}
		n := float64(histories)
		for i, least := range []float64{tt.five, tt.ten} {
			if share := float64(found[i]) / n; share < least-3*math.Sqrt(least*(1-least)/n) {
				t.Errorf("%+v: only %d of %d slower builds are found", tt, found[i], histories)
			}
		}
	}
}

// Points that are all equal have no deviation to compare with, and no step.
func TestStepsOfEqualPoints(t *testing.T) {
	equal := []float64{7, 7, 7, 7, 7, 7, 7}
	if steps := stepsOf(equal, 1); steps != nil {
		t.Errorf("%+v", steps)
	}
	if change, ends, p := student(equal[:3], equal[3:], 0); change != 0 || ends != (inference.Interval{}) || !math.IsNaN(p) {
		t.Errorf("change %v, interval %v, p %v; want 0, 0 to 0 and NaN", change, ends, p)
	}
}
