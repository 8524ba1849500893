package figure

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// stated returns a successful request with a TTFT and numbers of the server in µs and tokens; −1 is missing.
func stated(ttft, queue, prefill, steps, drafts, accepted, host int64) *answer.Measured {
	count := func(v, unit int64) export.Int { return export.Int{V: max(0, v) * unit, OK: v >= 0} }
	m := &answer.Measured{}
	m.TTFT, m.InputTokens = count(ttft, 1000), export.IntOf(10)
	m.Server = export.ServerDetails{
		Queue: count(queue, 1000), Prefill: count(prefill, 1000),
		DraftSteps: count(steps, 1), DraftTokens: count(drafts, 1), AcceptedTokens: count(accepted, 1), CachedHost: count(host, 1),
	}
	return m
}

// By hand. Two requests state queue and prefill, one of them more than passed; one states its prefill alone; one states
// nothing.
func TestWaterfallOfLevel(t *testing.T) {
	c := NewPhases(stat.NewStore(0, ""))
	c.Add(stated(1000, 200, 500, 4, 12, 6, 5))  // rest 300
	c.Add(stated(1000, 300, 800, 1, 3, 0, -1))  // rest −100, bound 3.1
	c.Add(stated(2000, -1, 1999, -1, 10, 9, 0)) // rest 1
	c.Add(stated(5000, -1, -1, -1, -1, -1, -1)) // no times
	c.Add(stated(-1, 100, 100, -1, -1, -1, -1)) // no TTFT
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	x := &Level{}
	c.Set(x, &export.Run{})
	w := x.Phases.Waterfall
	if w.Requests != 3 || w.Unstated != 1 || w.Below != 1 || w.Beyond != 1 || w.LeastNS != -100e3 {
		t.Errorf("%+v", w)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	near("the mean TTFT", w.MeanNS, 4000e3/3)
	near("the bound", w.BoundNS, (2700+3100+2999)/3.)
	want := []struct {
		part answer.WaterfallPart
		n    int
		sum  float64
	}{{answer.QueuePart, 2, 500e3}, {answer.PrefillPart, 3, 3299e3}, {answer.RestPart, 3, 201e3}}
	if len(w.Parts) != len(want) {
		t.Fatalf("%+v", w.Parts)
	}
	sum := 0.0
	for i, p := range w.Parts {
		if p.Part != want[i].part || p.N != want[i].n {
			t.Errorf("part %d: %+v", i, p)
		}
		near(p.Part.String(), p.MeanNS, want[i].sum/3)
		near("the share of "+p.Part.String(), p.Share, want[i].sum/4000e3)
		sum += p.MeanNS
	}
	near("the sum of the parts", sum, w.MeanNS)
	for key, value := range map[string]float64{KeyAcceptance: 1 + 6./5, KeyAcceptedShare: 15. / 25, KeyHostHits: 5. / 20} {
		f := Find(x.Phases.Figures, key)
		near(key, f.Value, value)
	}
	for _, key := range []string{KeyLocalHits, KeyStorageHits, KeyExternalHits, KeyRetractions} {
		if f := Find(x.Phases.Figures, key); f.Why == "" {
			t.Errorf("%+v has no reason", f)
		}
	}
}

// A level whose servers state nothing has no waterfall, and speculation without a step has no length.
func TestPhasesNothing(t *testing.T) {
	c := NewPhases(stat.NewStore(0, ""))
	c.Add(stated(1000, -1, -1, 0, 0, 0, -1))
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	x := &Level{}
	c.Set(x, &export.Run{})
	if x.Phases.Waterfall != nil {
		t.Errorf("%+v", x.Phases.Waterfall)
	}
	for _, key := range []string{KeyAcceptance, KeyAcceptedShare} {
		if f := Find(x.Phases.Figures, key); f.Why != "no request speculated" {
			t.Errorf("%+v", f)
		}
	}
}
