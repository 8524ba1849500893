package analyze

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A witness writes down what it observes.
type witness struct{ lines []string }

func (w *witness) Begin(run *export.Run) {
	w.lines = append(w.lines, fmt.Sprint("begin ", len(run.Experiments)))
}

func (w *witness) Request(level int, q *Point) {
	w.lines = append(w.lines, fmt.Sprint(level, " start ", q.StartNS, " slot ", q.Slot, " connect ", q.ConnectNS, " ", q.Status, " first ", q.FirstTokenNS, " tokens ", q.TokenNS, " gaps ", q.Gaps, q.GapNS))
}

func (w *witness) End() { w.lines = append(w.lines, "end") }

func (w *witness) Scrape(s *export.Scrape) { w.lines = append(w.lines, "scrape "+s.Source) }

// An Observer sees all requests with the times of their tokens, then the telemetry; also where the analysis
// keeps requests.
func TestObserver(t *testing.T) {
	choices := openaiRequest(delta("a"), strings.ReplaceAll(delta("b"), `"index":0`, `"index":1`), delta("c"), strings.ReplaceAll(delta("d"), `"index":1`, `"index":0`))
	choices.Worker, choices.Connect, choices.TLS = 3, 5, 6
	failed := export.Request{StartNS: 7, FailedNS: 9, Status: export.StatusTimeout}
	want := []string{
		"begin 2",
		"0 start 1000 slot 3 connect 11 unknown first 1010 tokens [1010 1020 1030 1040] gaps [20 10] [1030 1040]",
		"0 start 7 slot 0 connect 0 timeout first 0 tokens [] gaps [] []",
		"1 start 10 slot 0 connect 0 unknown first 20 tokens [] gaps [10 10] []",
		"end",
		"scrape a",
	}
	for _, series := range []bool{false, true} {
		r := reader("openai", []export.Request{choices, failed}, []export.Request{at(10, 20, 30, 40)})
		r.Telemetry = []export.Scrape{{Source: "a"}}
		var w witness
		if series { // keeps all times
			want[3] = "1 start 10 slot 0 connect 0 unknown first 20 tokens [20 30 40] gaps [10 10] [30 40]"
		}
		rep, err := Run(t.Context(), r, Config{Observer: &w, Series: series})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, w.lines); d != "" {
			t.Errorf("series %v (-want +got):\n%s", series, d)
		}
		if d := cmp.Diff([]FirstToken{{1000, 10}}, rep.Experiments[0].FirstTokens); d != "" {
			t.Errorf("first tokens (-want +got):\n%s", d)
		}
	}
}

// The curve holds the percentiles that sorting gives.
func TestCurve(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 201, len(summary.CurveLevels) - 1, len(summary.CurveLevels), 5000} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		sorted := make([]int64, n)
		for i := range sorted {
			sorted[i] = rng.Int64N(1000)
		}
		stat.Sort(sorted)
		x := summary.Sample[int64]{Curve: true}
		for from := 0; from < n; {
			to := min(n, from+rng.IntN(5)) // also none
			x.Add(sorted[from:to]...)
			from = to
		}
		got := x.Summary().Curve
		for i, level := range summary.CurveLevels {
			if want := stat.Quantile(sorted, level/100); got.At(i) != want {
				t.Errorf("n %d, p%v: %v, want %v", n, level, got.At(i), want)
			}
		}
	}
	rep, err := Run(t.Context(), reader("", []export.Request{at(10, 20, 30)}), Config{})
	if err != nil || rep.Experiments[0].Metric(answer.TTFT).Curve != nil || rep.Experiments[0].FirstTokens != nil {
		t.Errorf("a curve that nobody asked for, %v", err)
	}
}
