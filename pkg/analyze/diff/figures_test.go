package diff

import (
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// Figures of a level are compared like figures of servers: several runs a side give an interval, one run a
// side gives the reason; a figure without a value in a run says so.
func TestLevelFigures(t *testing.T) {
	level := func(joules float64, why string) *RunLevel {
		e := &analyze.Experiment{
			OK: 3, Level: figure.Level{
				Economics: &figure.Economics{Figures: []figure.Figure{{Key: figure.KeyPerOutput, Label: "energy per output token", Unit: "J", Value: joules, Why: why}}},
				Prefix:    &figure.Prefix{Figures: []figure.Figure{{Key: figure.KeyHitRate, Label: "hit rate", Unit: "ratio", Value: 0.5}}},
				Phases:    &figure.Phases{Figures: []figure.Figure{{Key: figure.KeyQueueTime, Label: "queue", Unit: "ns", Why: "none"}}},
			},
		}
		return &RunLevel{Server: levelFigures(e)}
	}
	several := &LevelDiff{
		Old: []*RunLevel{level(1, ""), level(1.1, ""), level(0.9, "")},
		New: []*RunLevel{level(2, ""), level(2.1, ""), level(1.9, "")},
	}
	several.server("")
	if len(several.Server) != 2 { // the queue has no value in any run
		t.Fatalf("%+v", several.Server)
	}
	r := several.Server[0]
	if x := r.Interval(confidence); r.NA.Missing() || r.of() != ofLevel || r.Unit != "J" || !(x.Low > 0.5 && x.Low < 1 && x.High > 1) {
		t.Errorf("%+v: %+v", r, x)
	}
	one := &LevelDiff{Old: []*RunLevel{level(1, "")}, New: []*RunLevel{level(2, "")}}
	one.server("")
	if r := one.Server[0]; !r.NA.Missing() || r.reason() == "" || r.Change != 1 {
		t.Errorf("%+v", r)
	}
	lacking := &LevelDiff{Old: []*RunLevel{level(1, "")}, New: []*RunLevel{level(0, "no energy")}}
	lacking.server("")
	if i := slices.IndexFunc(lacking.Server, func(r *ServerRow) bool { return r.Metric == figure.KeyPerOutput }); lacking.Server[i].reason() != "1 of 1 new runs has no value" {
		t.Errorf("%+v", lacking.Server[i])
	}
}
