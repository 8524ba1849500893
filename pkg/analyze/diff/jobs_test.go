package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/analyze/figure"
)

// Two runs of the same sessions differ by 10 %; sessions differ by far more. Pairs of sessions show the change, and two
// series of other sessions do not.
func TestJobs(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var older, newer, others []figure.Job
	for i := range 60 {
		ns := int64(1e9 * (1 + 50*rng.Float64()))
		change := 1.1 + 0.02*(rng.Float64()-0.5)
		older = append(older, figure.Job{ID: fmt.Sprint("s", i), TimeNS: ns, ModelNS: ns / 2})
		newer = append(newer, figure.Job{ID: fmt.Sprint("s", i), TimeNS: int64(float64(ns) * change), ModelNS: ns / 2})
		others = append(others, figure.Job{ID: fmt.Sprint("t", i), TimeNS: int64(float64(ns) * change), ModelNS: ns / 2})
	}
	rng.Shuffle(len(newer), func(i, j int) { newer[i], newer[j] = newer[j], newer[i] })
	rows := func(o, n []figure.Job) []*ServerRow {
		l := &LevelDiff{Old: []*RunLevel{{Jobs: o}}, New: []*RunLevel{{Jobs: n}}}
		l.jobs()
		return l.Server
	}
	paired := rows(older, newer)
	if len(paired) != 2 || paired[0].Name != "job time of 60 sessions on both sides" || paired[0].Old.N != 60 || paired[0].Unit != "ns" {
		t.Fatalf("%+v", paired)
	}
	if x := paired[0].Interval(confidence); paired[0].NA.Missing() || !(x.Low > 0.09 && x.Low < 0.1 && x.High > 0.1 && x.High < 0.11) {
		t.Errorf("%+v: %+v", paired[0], x)
	}
	single := rows(older, others)[0]
	if x := single.Interval(confidence); single.Name != "job time by session" || !(x.Low < 0 && x.High > 0.1) {
		t.Errorf("%+v: %+v", single, x)
	}
	half := rows(older, slices.Concat(newer[:29], others[:31]))[0]
	if half.Name != "job time by session" {
		t.Errorf("29 of 60 sessions: %q", half.Name)
	}
	if all := rows(nil, newer); all != nil {
		t.Errorf("without sessions: %+v", all)
	}
}
