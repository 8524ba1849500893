package diff

import (
	"bytes"
	"math"
	"testing"

	"github.com/pa-tools/pa/internal/test/schematest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/quality"
)

// withQuality reads two runs of 1,500 requests with tight deadlines.
func withQuality(t *testing.T) (older, newer *Run) {
	t.Helper()
	q := quality.Default()
	q.FirstTokenNS, q.TokenNS, q.PaceNS, q.StallNS, q.StallFactor = 100e6, 10e6, 22e6, 11e6, 1.1
	q.Target, q.Share = 0.1, 0.5
	cfg := analyze.Config{Quality: &q}
	return readWith(t, "old", recipe{seed: 1, requests: 1500, tokens: 8, ttft: 100, itl: 10}, cfg),
		readWith(t, "new", recipe{seed: 2, requests: 1500, tokens: 8, ttft: 100, itl: 11}, cfg)
}

// One run a side: each figure has the value of the report, and an interval around the change of the
// two values, in which a change of a tenth in the gaps shows.
func TestQualityOfSingleRuns(t *testing.T) {
	older, newer := withQuality(t)
	res := Compare([]*Run{older}, []*Run{newer}, Options{Quality: true})
	l := res.Levels[0]
	for _, m := range Metrics {
		if !m.Quality {
			continue
		}
		if m.of == itlPerToken { // no usage
			continue
		}
		r := rowOf(t, l, m.Key)
		switch m.of {
		case tokensPerEvent:
			if r.NA.Reason != "the old run has no value: no source counts the tokens apart from their events" {
				t.Errorf("%s: %+v", m.Key, r.NA)
			}
			continue
		case fluidTokenRate, smoothGoodput:
			if !r.NA.Missing() || math.IsNaN(r.Old.Value) {
				t.Errorf("%s: %+v", m.Key, r.Comparison)
			}
			continue
		}
		i := r.Shown()
		if r.NA.Missing() || !(i.Low <= r.Change && r.Change <= i.High) || !(i.High-i.Low < 0.5) {
			t.Errorf("%s: change %v, interval %+v, n/a %q", m.Key, r.Change, i, r.NA.Reason)
		}
		if d := r.New.Value/r.Old.Value - 1 - r.Change; math.Abs(d) > 1e-12 {
			t.Errorf("%s: change %v of %v and %v", m.Key, r.Change, r.Old.Value, r.New.Value)
		}
		for side, values := range map[*Run][2]float64{older: {r.Old.Value, r.OldRuns[0]}, newer: {r.New.Value, r.NewRuns[0]}} {
			if math.Abs(values[0]/values[1]-1) > 1e-12 {
				t.Errorf("%s of %s: %v, the report has %v", m.Key, side.Name, values[0], values[1])
			}
		}
		if r.Primary || r.Old.N == 0 {
			t.Errorf("%s: primary %v, n %d", m.Key, r.Primary, r.Old.N)
		}
	}
	for key, low := range map[string]bool{"fluidity_index": true, "interactivity_p90": true, "stall_share": false, "normalized_latency_p90": false} {
		if i := rowOf(t, l, key).Shown(); low && i.High >= 0 || !low && i.Low <= 0 {
			t.Errorf("%s: interval %+v does not show the difference", key, i)
		}
	}
	// The interval of an inverse has the inverse ends.
	a, b := rowOf(t, l, "interactivity_p90").Shown(), rowOf(t, l, "normalized_latency_p90").Shown()
	if d := (1+a.Low)*(1+b.High) - 1; math.Abs(d) > 1e-12 {
		t.Errorf("interactivity %+v, E2EL per token %+v", a, b)
	}
	// A side with itself: no change.
	same := Compare([]*Run{older}, []*Run{older}, Options{Quality: true})
	for _, r := range same.Levels[0].Rows {
		if r.Metric.Quality && !r.NA.Missing() && (r.Change != 0 || !r.Shown().Contains(0)) {
			t.Errorf("%s with itself: %v, %+v", r.Metric.Key, r.Change, r.Shown())
		}
	}
}

// A metric of quality is judged on request only, and gates know it only then.
func TestQualityJudged(t *testing.T) {
	older, newer := withQuality(t)
	o := Options{Quality: true, Primary: []string{"interactivity_p90"}}
	res := Compare([]*Run{older}, []*Run{newer}, o)
	if r := rowOf(t, res.Levels[0], "interactivity_p90"); r.Verdict.String() != "different" || res.Family != 1 {
		t.Errorf("verdict %v, family %d", r.Verdict, res.Family)
	}
	for text, want := range map[string]GateState{"interactivity_p90<-2%": GateTripped, "new.tokens_in_time<0.1%": GateClear, "new.tokens_per_event<2": GateUnknown} {
		e, err := o.ParseGate(text)
		if err != nil {
			t.Fatal(err)
		}
		if res.Gate([]*GateExpr{e}); res.Gates[len(res.Gates)-1].State != want {
			t.Errorf("%s: %+v", text, res.Gates[len(res.Gates)-1])
		}
	}
	for _, text := range []string{"new.tokens_per_event<2ms", "new.tokens_per_event<2%"} {
		if _, err := o.ParseGate(text); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	if _, err := (&Options{}).ParseGate("interactivity_p90<-5%"); err == nil {
		t.Error("a condition on a metric that is not read")
	}
	var b bytes.Buffer
	if err := res.Formats(false).In("json", 0)(&b); err != nil {
		t.Fatal(err)
	}
	if err := schematest.Open(t, "diff.schema.json").Check(t, b.Bytes()); err != nil {
		t.Error(err)
	}
}
