package view

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool"
)

// open returns a reader of a JSON document. TestViews in cmd/pa-analyze reads Parquet.
func open(t *testing.T, document []byte) export.Reader {
	t.Helper()
	o := export.Opener{Formats: append(tool.Formats(), profilejson.Format{}), Stdin: bytes.NewReader(document)}
	r, err := o.Open(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // only read
	return r
}

// collect collects a run, which must not fail.
func collect(t *testing.T, r export.Reader, cfg Config) *Run {
	t.Helper()
	run, err := Collect(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// Two requests of a closed loop and a failure, worked out by hand. Times are microseconds from the start of
// the run at 1 ms: request 7 is due at 0, connects from 60, leaves at 100, has tokens at 400 to 700 and a
// last one after a stall of a second, and ends at 1,000,800. Request 9 leaves at 150 and fails at 1000.
func TestByHand(t *testing.T) {
	first := memrun.OpenAI(memrun.Delta("a"), memrun.Delta("b"), memrun.Delta("c"), memrun.Delta("d"), memrun.Delta("e"), memrun.Usage5)
	for i, us := range []uint64{400, 500, 600, 700, 1_000_700, 1_000_800} {
		first.Responses[i].RecvNS = 1_000_000 + us*1000
	}
	first.HasMeta, first.ID, first.Status, first.Worker = true, 7, export.StatusOK, 1
	first.ScheduledNS, first.StartNS, first.Connect = 1_000_000, 1_100_000, 40_000
	failed := export.Request{HasMeta: true, ID: 9, Status: export.StatusTimeout, Message: "<b>", StartNS: 1_150_000, FailedNS: 2_000_000, Rank: 0}
	run := collect(t, memrun.New("openai", []export.Request{first, failed}), Config{Name: "x", Stalls: quality.Stalls{ThresholdNS: 200e6, Factor: 5}})
	if run.OriginNS != 1_000_000 || run.Name != "x" {
		t.Errorf("origin %d, name %q", run.OriginNS, run.Name)
	}
	l := &run.Levels[0]
	want := []*Request{{
		ID: 7, Slot: 1, Lane: 1, QueueNS: 0, ConnectNS: 60_000, StartNS: 100_000, FirstNS: 400_000, LastTokenNS: 1_000_700_000, EndNS: 1_000_800_000,
		TTFTNS: 300_000, E2ELNS: 1_000_700_000, InputTokens: 9, CachedTokens: 8, OutputTokens: 5, Server: [NumServerParts]int64{Absent, Absent, Absent}, RequestTexts: &RequestTexts{Status: "ok"},
		Stalls: []Stall{{AtNS: 700_000, LengthNS: 1e9, Position: 4}},
	}, {
		ID: 9, Lane: 0, QueueNS: Absent, ConnectNS: Absent, StartNS: 150_000, FirstNS: Absent, LastTokenNS: Absent, EndNS: 1_000_000,
		TTFTNS: Absent, E2ELNS: Absent, InputTokens: Absent, CachedTokens: Absent, OutputTokens: 0, Server: [NumServerParts]int64{Absent, Absent, Absent},
		RequestTexts: &RequestTexts{Status: "timeout", Excluded: "failed", ErrorClass: "timeout", Error: "<b>"},
	}}
	if d := cmp.Diff(want, l.Requests); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if l.Lanes != 2 || l.LeftOut != 0 || l.Sampling != "" || l.FromNS != 0 || l.ToNS != 1_000_800_000 {
		t.Errorf("%d lanes, %d left out, %q, from %d to %d", l.Lanes, l.LeftOut, l.Sampling, l.FromNS, l.ToNS)
	}
	if d := cmp.Diff([]Prompt{{InputTokens: 9, CachedTokens: 8, TTFTNS: 300_000}}, l.Prompts); d != "" {
		t.Errorf("prompts (-want +got):\n%s", d)
	}
	flight := series(t, l, InFlight)
	if d := cmp.Diff(Series{Key: InFlight, Label: "requests in flight", Unit: "requests", AtNS: []int64{100_000, 150_000, 1_000_000, 1_000_800_000}, Value: []float64{1, 2, 1, 0}}, flight); d != "" {
		t.Errorf("in flight (-want +got):\n%s", d)
	}
	// The gaps: 3 of 100 µs, in the row from 98,304 ns, and one of a second.
	g := &l.GapsByPosition
	if d := cmp.Diff([]float64{1, 2, 3, 4, 5}, g.X); d != "" || g.N != 4 || g.Most != 1 {
		t.Errorf("%+v", g)
	}
	if g.Y[0] != 98_304 || g.At(0, 0) != 1 || g.At(1, 0) != 1 || g.At(3, 0) != 0 || g.At(3, len(g.Y)-2) != 1 {
		t.Errorf("%+v", g)
	}
	if g := &l.GapsByTime; g.N != 4 || g.Most != 3 {
		t.Errorf("%+v", g)
	}
	check(t, run, defaultRows)
	if len(l.Distributions) != 4 || l.Distributions[1].Metric != answer.ITL || l.Distributions[1].Summary.N != 4 {
		t.Errorf("%+v", l.Distributions)
	}
}

// series returns the series of a level with a key.
func series(t *testing.T, l *Level, key string) Series {
	t.Helper()
	for i := range l.Series {
		if l.Series[i].Key == key {
			return l.Series[i]
		}
	}
	t.Fatalf("no series %s", key)
	return Series{}
}
