package analyze

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

func TestSteps(t *testing.T) {
	// Two at a time: they end in another order than they began, two of them at
	// once, and one end lies before the first start.
	overlapping := []export.Request{sent(0, 1, 3), sent(1, 2), sent(2, 2.5, 3), as(sent(2.5), export.StatusTimeout, export.PhaseMeasured, 9), sent(3, -1)}
	all := []Step{{1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}, {1, 1, 3}}
	for _, tt := range []struct {
		name string
		r    []export.Request
		s    Selection
		want []Step
	}{
		{"the whole level", steps(), Selection{}, all},
		{"out of order", overlapping, Selection{}, []Step{{0, 1, 1}, {2, 1, 1}, {1, 1, 2}, {0, 1, 2}}},
		// From 2 to 5 s three requests end, at 2, 3 and 4 s, and at each of 2,
		// 2.4, 2.7, 3, … 4.7 s a token comes.
		{"a window", steps(), Selection{Window: &Interval{2 * time.Second, 5 * time.Second}}, []Step{{1, 1, 3}, {1, 1, 3}, {1, 1, 3}}},
		// From 2.5 s on the first one ends at 3 s, but its step begins before.
		{"between completions", steps(), Selection{Window: &Interval{2500 * time.Millisecond, 4500 * time.Millisecond}}, []Step{{1.5, 1, 4}, {0.5, 1, 2}}},
		{"no completion", steps(), Selection{Window: &Interval{2100 * time.Millisecond, 2900 * time.Millisecond}}, []Step{{0.8, 0, 2}}},
		// A request that ends with the level, at 10 s, is in it; a late request ends after it, at
		// 10.5 s.
		{"to the end", steps(), Selection{TrimStart: Trim{Length: 8 * time.Second}}, []Step{{1, 1, 3}, {1, 2, 4}}},
		{"two at once", []export.Request{sent(0, 1), sent(0, 2), sent(0, 2), sent(0, 4)}, Selection{Window: &Interval{To: 3 * time.Second}}, []Step{{2, 1, 1}, {0, 0, 0}, {1, 2, 2}}},
		{"nothing succeeded", []export.Request{as(sent(0), export.StatusTimeout, export.PhaseMeasured, 1)}, Selection{}, nil},
		{"no time", []export.Request{sent(0, 0)}, Selection{}, nil},
	} {
		e := analyzed(t, reader("", tt.r), Config{Streaming: &streamed, Series: true, Selection: tt.s}).Experiments[0]
		if d := cmp.Diff(tt.want, e.Steps, cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// Steps add up to the rates, whatever part is selected.
func TestStepsAddUp(t *testing.T) {
	for _, s := range []Selection{
		{},
		{Window: &Interval{1300 * time.Millisecond, 7100 * time.Millisecond}},
		{Window: &Interval{From: 3 * time.Second}},
		{TrimStart: Trim{Share: 0.05}, TrimEnd: Trim{Share: 0.25}},
		{SteadyState: true},
	} {
		e := analyzed(t, reader("", steps()), Config{Series: true, Selection: s}).Experiments[0]
		var seconds, requests, tokens float64
		for _, x := range e.Steps {
			seconds, requests, tokens = seconds+x.Seconds, requests+float64(x.Requests), tokens+x.OutputTokens
		}
		want := []float64{float64(e.DurationNS) / 1e9, e.Throughput.Requests.PerSecond, e.Throughput.OutputTokens.PerSecond}
		if d := cmp.Diff(want, []float64{seconds, requests / seconds, tokens / seconds}, cmpopts.EquateApprox(1e-12, 0)); d != "" || seconds == 0 {
			t.Errorf("%+v: seconds, requests/s, tokens/s (-want +got):\n%s", s, d)
		}
	}
}

// A comparison needs the places of the requests in the level, also of a selected part, and the
// times at which gaps ended.
func TestPoints(t *testing.T) {
	numbered := func(id uint64, start float64) export.Request {
		r := as(sent(start, start+1), export.StatusOK, export.PhaseMeasured, 0)
		r.ID = id
		return r
	}
	places := func(c Config, r ...export.Request) []int {
		c.Series = true
		var all []int
		for _, p := range analyzed(t, reader("", r), c).Experiments[0].Series {
			all = append(all, p.Place)
		}
		return all
	}
	late := Config{Selection: Selection{Window: &Interval{From: 1500 * time.Millisecond}}}
	for _, tt := range []struct {
		name      string
		got, want []int
	}{
		{"by ID, from whichever", places(Config{}, numbered(12, 0), numbered(10, 1), numbered(17, 2)), []int{1, 0, 2}},
		{"by start where one has none", places(Config{}, sent(1, 2), numbered(9, 0), numbered(1, 2)), []int{0, 1, 2}},
		{"of the level, not of the part", places(late, numbered(12, 0), numbered(10, 1), numbered(17, 2), numbered(16, 3)), []int{3, 2}},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}

	damaged := openaiRequest(delta("a"), delta("b"), delta("c"), delta("d"))
	damaged.Responses[1].RecvNS = math.MaxUint64 // no span of an int64 before or behind it
	other := strings.Replace(delta("c"), `"index":0`, `"index":1`, 1)
	for _, tt := range []struct {
		name string
		r    export.Request
		gaps []int64
		ends []uint64
	}{
		{"one choice", openaiRequest(delta("a"), delta("b"), usage5, delta("c")), []int64{10, 20}, []uint64{1020, 1040}},
		{"two choices", openaiRequest(delta("a"), other, other, delta("b")), []int64{10, 30}, []uint64{1030, 1040}},
		{"one token", openaiRequest(delta("a")), nil, nil},
		{"an impossible gap", damaged, []int64{10}, []uint64{1040}},
	} {
		p := analyzed(t, reader("openai", []export.Request{tt.r}), Config{Series: true}).Experiments[0].Series[0]
		if d := cmp.Diff([]any{tt.gaps, tt.ends}, []any{p.Gaps, p.GapNS}, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
	// A file without gaps gives no gaps and no ends of gaps.
	gapless := reader("openai", []export.Request{openaiRequest(delta("a"), delta("b"))})
	gapless.Header.Meta = &export.RunMeta{Import: &export.Import{Lacks: []export.Lack{{Part: export.PartGaps, Why: "first and last"}}}}
	if p := analyzed(t, gapless, Config{Series: true}).Experiments[0].Series[0]; len(p.Gaps) != 0 || len(p.GapNS) != 0 {
		t.Errorf("%d gaps and %d ends of a file without", len(p.Gaps), len(p.GapNS))
	}
	if p := analyzed(t, reader("", []export.Request{sent(0, 1)}), Config{Series: true}).Experiments[0].Series[0]; p.InputHash != 0 {
		t.Error("no input has a hash")
	}
}

// Timestamps are counted by source for each level, and for all requests of the file.
func TestStampsByLevel(t *testing.T) {
	r := sent(1, 2, 3)
	r.StartSource = export.SourceKernel
	r.Responses[0].Source, r.Responses[1].Source = export.SourceKernel, export.SourceUser
	failed := as(sent(0.5), export.StatusTimeout, export.PhaseMeasured, 2)
	rep := analyzed(t, reader("", []export.Request{r, failed}, []export.Request{sent(5, 4.5, 7)}), Config{})
	type counts struct{ Stamps, Starts Stamps }
	var got []counts
	for _, e := range rep.Experiments {
		got = append(got, counts{e.Stamps, e.Starts})
	}
	want := []counts{
		{Stamps{Kernel: 1, User: 1, Mixed: 1}, Stamps{Kernel: 1}},
		{Stamps{Unknown: 2}, Stamps{Unknown: 1}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if rep.Requests != 3 || rep.FirstNS != sec(0.5) {
		t.Errorf("%d requests, the first at %d, want 3 and %d", rep.Requests, rep.FirstNS, sec(0.5))
	}
}

// Tokens by usage are spread over the events, input tokens count with the first event, and unknown
// counts give no number.
func TestFlow(t *testing.T) {
	// 5 tokens by usage in 2 events at 1010 and 1020, input 9, end at 1030.
	usage := openaiRequest(delta("a"), delta("b"), usage5)
	// No event, but usage, which comes at 1010.
	silent := openaiRequest(usage5)
	dropped := openaiRequest("", "")
	dropped.OutputsDropped = true
	for i := range dropped.Responses {
		dropped.Responses[i].Outputs = nil
	}
	cancelled := as(openaiRequest(delta("a"), delta("b")), export.StatusCancelled, export.PhaseMeasured, 0)
	failed := as(openaiRequest(delta("a"), delta("b")), export.StatusTruncated, export.PhaseMeasured, 0)
	failed.FailedNS = 1050
	for _, tt := range []struct {
		name     string
		cfg      Config
		r        []export.Request
		from, to uint64
		want     [3]float64 // requests, output and total tokens in it; −1 for n/a
	}{
		{"before", Config{}, []export.Request{usage}, 990, 1005, [3]float64{0, 0, 0}},
		{"the first event", Config{}, []export.Request{usage}, 1005, 1015, [3]float64{0, 2.5, 11.5}},
		{"the second event", Config{}, []export.Request{usage}, 1015, 1025, [3]float64{0, 2.5, 2.5}},
		{"the end", Config{}, []export.Request{usage}, 1025, 1035, [3]float64{1, 0, 0}},
		{"an instant belongs to what follows", Config{}, []export.Request{usage}, 1000, 1020, [3]float64{0, 2.5, 11.5}},
		{"tokens without an event come with the end", Config{}, []export.Request{silent}, 1005, 1015, [3]float64{1, 5, 14}},
		{"two requests", Config{}, []export.Request{usage, silent}, 1000, 1035, [3]float64{2, 10, 28}},
		{"dropped outputs", Config{}, []export.Request{usage, dropped}, 1000, 1035, [3]float64{2, -1, -1}},
		{"outputs dropped elsewhere", Config{}, []export.Request{usage, dropped}, 1025, 1035, [3]float64{1, 0, 0}},
		{"what was cancelled was delivered", Config{}, []export.Request{usage, cancelled}, 1000, 1035, [3]float64{1, 7, 16}},
		{"what failed was not", Config{}, []export.Request{usage, failed}, 1000, 1035, [3]float64{1, 5, 14}},
		{"no tokens from usage", Config{TokenSource: answer.TokenUsage}, []export.Request{openaiRequest(delta("a"))}, 1000, 1035, [3]float64{1, -1, -1}},
		{"no input tokens", Config{}, []export.Request{openaiRequest(delta("a"))}, 1000, 1035, [3]float64{1, 1, -1}},
	} {
		r := reader("openai", tt.r)
		rep := analyzed(t, r, Config{Series: true, TokenSource: tt.cfg.TokenSource})
		f := &flows(eachOf(rep.Experiments[0].Series), []uint64{tt.from, tt.to}, math.MaxInt64)[0]
		x := f.throughput(1, 2)
		got := [3]float64{x.Requests.PerSecond, x.OutputTokens.PerSecond, x.TotalTokens.PerSecond}
		for i, r := range []figure.Rate{x.Requests, x.OutputTokens, x.TotalTokens} {
			if !r.OK {
				got[i] = -1
			}
		}
		if got != tt.want || x.OutputTokens.OK && x.OutputTokensPerUser.PerSecond != got[1]/2 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// eachOf returns the points of a slice.
func eachOf(points []Point) eachPoint {
	return func(do func(p *Point) bool) {
		for i := range points {
			if !do(&points[i]) {
				return
			}
		}
	}
}
