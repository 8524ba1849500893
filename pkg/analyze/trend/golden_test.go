package trend

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/inference"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// nights makes a point of three runs for each time to the first token, in milliseconds,
// recorded from the given night on.
func nights(t *testing.T, first int, ttft []float64, change func(i int, s *memrun.Spec)) []Point {
	var points []Point
	for i, ms := range ttft {
		p := Point{Label: fmt.Sprintf("night %d", first+i)}
		for j := range 3 {
			n := 3*(first+i) + j
			s := memrun.Spec{
				Name: fmt.Sprintf("run.%d.json", n), Second: uint64(86_400*(first+i) + 60*j), TTFT: ms + 0.1*float64(j%3), ITL: 20 + 0.05*float64(n%4),
				Group: fmt.Sprint("night", first+i),
			}
			if change != nil {
				change(i, &s)
			}
			p.Runs = append(p.Runs, runtest.Read(t, s))
		}
		points = append(points, p)
	}
	return points
}

// judgements are new points beside accepted ones.
func judgements(t *testing.T) map[string]*Judgement {
	steady := []float64{30.2, 29.9, 30.4, 30.1, 29.8}
	next := func(ms float64, change func(i int, s *memrun.Spec)) Point {
		return nights(t, 50, []float64{ms}, change)[0]
	}
	judge := func(accepted []Point, next Point, allow float64) *Judgement {
		return Judge(accepted, next, JudgeOptions{Allow: allow, Margin: 0.05})
	}
	lost := judge(nights(t, 1, steady[:2], nil), next(30.1, nil), 0)
	lost.LeftOut = []LeftOut{{"night 3", "run.6.json was changed after it was accepted"}}
	lost.Unverified = []string{"night 2"}
	// cold makes the first run of a point five times as slow to its first token.
	cold := func(_ int, s *memrun.Spec) {
		if s.Second%86_400 == 0 {
			s.TTFT *= 5
		}
	}
	fives := func(first int, ttft []float64, change func(i int, s *memrun.Spec)) []Point {
		points := nights(t, first, ttft, change)
		for i := range points {
			for k, ms := range []float64{0.15, 0.25} {
				n := 1000*(first+i) + k
				points[i].Runs = append(points[i].Runs, runtest.Read(t, memrun.Spec{
					Name: fmt.Sprintf("run.%d.json", n), Second: uint64(86_400*(first+i) + 600 + 60*k), TTFT: ttft[i] + ms, ITL: 20.05, Group: fmt.Sprint("night", first+i),
				}))
			}
		}
		return points
	}
	noise := nights(t, 1, []float64{30.2, 29.9, 33, 30.1, 29.8, 30.3, 30, 29.7}, nil)
	noise[2].Noise = "the fan failed"
	return map[string]*Judgement{
		"lost":      lost,
		"equal":     judge(nights(t, 1, steady, nil), next(30.1, nil), 0),
		"worse":     judge(nights(t, 1, steady, nil), next(33, nil), 0),
		"allowed":   judge(nights(t, 1, steady, nil), next(31.5, nil), 0.06),
		"small":     judge(nights(t, 1, []float64{30.02, 29.99, 30.04, 30.01, 29.98}, nil), next(30.7, nil), 0),
		"none":      judge(nil, next(33, nil), 0),
		"first":     judge(nights(t, 1, steady[:1], nil), next(33, nil), 0),
		"failing":   judge(nights(t, 1, steady, nil), next(30.1, func(_ int, s *memrun.Spec) { s.Failed = 2 }), 0),
		"survivors": judge(nights(t, 1, steady, nil), next(15, func(_ int, s *memrun.Spec) { s.Failed = 5 }), 0),
		"levels":    judge(nights(t, 1, steady, func(_ int, s *memrun.Spec) { s.Levels = []string{"1", "4"} }), next(30.1, nil), 0),
		"added":     judge(nights(t, 1, steady, nil), next(30.1, func(_ int, s *memrun.Spec) { s.Levels = []string{"1", "4", "8"} }), 0),
		"single":    judge(nights(t, 1, steady, nil), Point{Label: "one run", Runs: next(30.1, nil).Runs[:1]}, 0),
		"early":     judge(nights(t, 1, steady[:2], nil), Point{Label: "one run", Runs: next(33, nil).Runs[:1]}, 0),
		"longer":    judge(nights(t, 1, steady, nil), next(30.1, func(_ int, s *memrun.Spec) { s.Requests = 40 }), 0),
		"brief":     judge(nights(t, 1, steady, nil), next(33, func(_ int, s *memrun.Spec) { s.Requests = 4 }), 0),
		"perhaps": judge(nights(t, 1, steady, nil), next(30.1, func(_ int, s *memrun.Spec) {
			if s.Second%86_400 == 0 {
				s.Failed = 1
			}
		}), 0),
		"spoiled":  judge(nights(t, 1, steady, func(i int, s *memrun.Spec) { s.Saturated = i == 2 }), next(30.1, nil), 0),
		"refused":  judge(nights(t, 1, steady, nil), next(33, func(_ int, s *memrun.Spec) { s.Model = "large" }), 0),
		"better":   judge(nights(t, 1, steady, nil), next(27, nil), 0),
		"notworse": judge(nights(t, 1, []float64{30, 30.9, 31.4, 30.5, 31.2, 30.1}, nil), next(29.8, nil), 0),
		"noisy":    judge(nights(t, 1, []float64{20, 60, 30, 45, 25}, nil), next(54, nil), 0),
		"more":     judge(nights(t, 1, []float64{30, 30.5, 29.6}, nil), next(30.4, nil), 0),
		"noise":    judge(noise, next(30.4, nil), 0),
		"cold":     judge(fives(1, steady, nil), fives(50, []float64{30.1}, cold)[0], 0),
		"hidden":   judge(append(fives(1, steady[:1], cold), fives(2, steady[1:], nil)...), fives(50, []float64{39}, nil)[0], 0),
		"constant": judge(nights(t, 1, []float64{30, 30, 30, 30}, exact), next(30, exact), 0),
		"coarse":   judge(nights(t, 1, []float64{30, 30, 30, 30}, exact), next(45, exact), 0),
	}
}

// exact makes the runs of a point equal.
func exact(_ int, s *memrun.Spec) { s.TTFT, s.ITL = math.Floor(s.TTFT), 20 }

// The golden files are in testdata; -update rewrites them.
func TestGolden(t *testing.T) {
	schema := schematest.Open(t, "trend.schema.json")
	stepped := nights(t, 1, []float64{30.2, 29.9, 30.4, 30.1, 29.8, 33.1, 33.3, 32.9, 33.2}, nil)
	odd := nights(t, 1, []float64{30.2, 29.9, 30.4, 30.1, 29.8, 91, 30.3, 29.9, 30.2}, func(i int, s *memrun.Spec) {
		if i > 6 {
			s.Failed = 5
		}
	})
	for name, points := range map[string][]Point{"stepped": stepped, "few": stepped[:3], "odd": odd} {
		schema.Formats(t, name, Analyze(points, Options{}).Formats(), 120, func(ext string) bool { return ext == "txt" || name == "stepped" || name == "odd" && ext != "md" }, *update)
	}
	for name, j := range judgements(t) {
		schema.Formats(t, name, j.Formats(), 120, func(ext string) bool {
			return ext == "txt" || name == "worse" || name == "lost" || name == "first"
		}, *update)
	}
}

// Each judgement has one answer, and fails, passes or cannot tell.
func TestAnswers(t *testing.T) {
	want := map[string]Answer{
		"lost": CannotTell, "equal": NoDifference, "worse": Worse, "allowed": Allowed, "small": Worse, "none": CannotTell, "first": CannotTell,
		"failing": FailsMore, "survivors": FailsMore, "levels": LevelMissing, "added": CannotTell, "single": NoDifference, "early": CannotTell, "longer": CannotTell,
		"spoiled": CannotTell, "refused": NotComparable, "better": Better, "notworse": NotWorse, "noisy": CannotTell, "more": CannotTell, "noise": CannotTell,
		"cold": CannotTell, "hidden": CannotTell, "constant": NoDifference, "coarse": CannotTell, "brief": CannotTell, "perhaps": CannotTell,
	}
	for name, j := range judgements(t) {
		got := j.Answer()
		if got != want[name] {
			t.Errorf("%s: %v, want %v: %s", name, got, want[name], j.Headline())
		}
		failed, unclear := j.Failures() != nil, j.Inconclusive() != nil
		if fails := got == FailsMore || got == Worse || got == LevelMissing || j.LeftOut != nil; failed != fails || unclear != (got == CannotTell) || j.passed() != (got > CannotTell && !fails) {
			t.Errorf("%s: %v: failed %v, cannot tell %v, passed %v", name, got, failed, unclear, j.passed())
		}
		if strings.Contains(j.Headline(), "no difference") != (got == NoDifference) {
			t.Errorf("%s: %v: %s", name, got, j.Headline())
		}
	}
}

// Failures are judged by all requests, from the first accepted point on: by Fisher's test, and by
// more than one percentage point.
func TestFailuresRule(t *testing.T) {
	point := func(second uint64, requests, failed int) Point {
		s := memrun.Spec{Name: fmt.Sprintf("run.%d.json", second), Second: 1000 * second, TTFT: 1, ITL: 1, Requests: requests, Failed: failed}
		return Point{Label: s.Name, Runs: []*diff.Run{runtest.Read(t, s)}}
	}
	for _, tt := range []struct {
		name     string
		accepted [][2]int // requests and failures of each point
		new      [2]int
		fails    bool
	}{
		{"1 to 2 of 100", [][2]int{{100, 1}}, [2]int{100, 2}, false},
		{"1 to 2 of 100, five points", [][2]int{{100, 1}, {100, 1}, {100, 1}, {100, 1}, {100, 1}}, [2]int{100, 2}, false},
		{"a point more of many", [][2]int{{2000, 20}}, [2]int{2000, 40}, false},
		{"a little over a point of many", [][2]int{{2000, 20}}, [2]int{2000, 41}, true},
		{"3 to 7 of 100", [][2]int{{100, 3}}, [2]int{100, 7}, false},
		{"none to half", [][2]int{{20, 0}}, [2]int{20, 10}, true},
		{"half to none", [][2]int{{20, 10}}, [2]int{20, 0}, false},
		{"all points count, not the largest share", [][2]int{{60, 6}, {60, 0}, {60, 0}, {60, 0}, {60, 0}}, [2]int{60, 9}, true},
	} {
		var accepted []Point
		for i, n := range tt.accepted {
			accepted = append(accepted, point(uint64(i+1), n[0], n[1]))
		}
		j := Judge(accepted, point(100, tt.new[0], tt.new[1]), JudgeOptions{Margin: 0.05})
		if got := j.Answer() == FailsMore; got != tt.fails || (j.Failures() != nil) != tt.fails {
			t.Errorf("%s: %v: %s", tt.name, j.Answer(), j.Headline())
		}
		if refused := j.Refusal(true, false) != nil; refused != tt.fails {
			t.Errorf("%s: refused %v during the burn-in", tt.name, refused)
		}
	}
}

// An interval leaves out 0 exactly if there is a difference.
func TestIntervalsOfVerdicts(t *testing.T) {
	for name, j := range judgements(t) {
		for _, l := range j.Levels {
			for _, r := range l.Rows {
				if math.IsNaN(r.Adjusted) {
					continue
				}
				if found := r.Verdict != inference.NoDifference; found == r.Interval.Contains(0) || r.Level < confidence {
					t.Errorf("%s: %s: verdict %v, interval %v at %v", name, r.Metric.Key, r.Verdict, r.Interval, r.Level)
				}
			}
		}
	}
}

// A point with failed, spoiled or different runs does not become the first accepted one.
func TestUnfit(t *testing.T) {
	point := func(change func(n int, s *memrun.Spec)) *Point {
		var p Point
		for n := range 2 {
			s := memrun.Spec{Name: fmt.Sprintf("run.%d.json", n+1), Second: uint64(n), TTFT: 30, ITL: 20}
			if change != nil {
				change(n, &s)
			}
			p.Runs = append(p.Runs, runtest.Read(t, s))
		}
		return &p
	}
	for _, tt := range []struct {
		name   string
		change func(n int, s *memrun.Spec)
		ignore []string
		want   string
	}{
		{"good runs", nil, nil, ""},
		{"some requests failed", func(_ int, s *memrun.Spec) { s.Failed = 3 }, nil, ""},
		{"all requests of a run failed", func(n int, s *memrun.Spec) { s.Failed = 10 * n }, nil, "run.2.json: no request succeeded at concurrency 1"},
		{"the client was the limit", func(n int, s *memrun.Spec) { s.Saturated = n == 0 }, nil, "TTFT p50 at concurrency 1 cannot be judged: the client may be the limit in run.1.json"},
		{"two models", func(n int, s *memrun.Spec) { s.Model = []string{"a", "b"}[n] }, nil, "not comparable: model: a in run.1.json, b in run.2.json; use --ignore model to analyze them together anyway"},
		{"two models, ignored", func(n int, s *memrun.Spec) { s.Model = []string{"a", "b"}[n] }, []string{"model"}, ""},
	} {
		got := ""
		if err := point(tt.change).unfit(tt.ignore); err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Runs of one series are a point; labels name points and keep their order.
func TestPoints(t *testing.T) {
	all := nights(t, 1, []float64{30, 31}, nil)
	runs := append(append([]*diff.Run{}, all[1].Runs...), all[0].Runs...)
	points := Points([]Point{{Runs: runs}})
	if len(points) != 2 || len(points[0].Runs) != 3 || points[0].Label != "run.3.json" || points[1].Label != "run.6.json" {
		t.Errorf("%d points: %+v", len(points), points)
	}
	twoServers := nights(t, 1, []float64{30}, nil)[0].Runs
	for i, r := range twoServers {
		r.Header.Meta.Repeat.Label = []string{"old", "new"}[i%2]
	}
	if points := Points([]Point{{Runs: twoServers}}); len(points) != 2 || len(points[0].Runs) != 2 || len(points[1].Runs) != 1 {
		t.Errorf("two servers recorded in turn are %d points: %+v", len(points), points)
	}
	labeled := Points([]Point{{Label: "b", Runs: all[1].Runs[:1]}, {Runs: all[0].Runs[:1]}, {Label: "a", Runs: all[0].Runs[1:]}, {Label: "b", Runs: all[1].Runs[1:]}})
	if len(labeled) != 3 || labeled[0].Label != "b" || len(labeled[0].Runs) != 3 || labeled[1].Label != "a" || labeled[2].Label != "run.3.json" {
		t.Errorf("%+v", labeled)
	}
}
