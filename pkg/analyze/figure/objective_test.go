package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// metricOf returns the metric of objectives with a name.
func metricOf(t *testing.T, name string) expr.Metric {
	t.Helper()
	e, err := expr.ParseObjective(name + ">0")
	if err != nil {
		t.Fatal(err)
	}
	return e.Metrics()[0]
}

// Every metric of an objective has the value of the report.
func TestObjectiveMetrics(t *testing.T) {
	r := memrun.OpenAI(memrun.Thought, memrun.Thought, memrun.Delta("a"), memrun.Delta("b"), memrun.Usage5) // 10 … 50 ns
	r.Responses[3].RecvNS = 1070                                                                            // gaps 10, 10, 40
	r.Responses[4].RecvNS = 1100
	want := map[string]float64{
		"ttft": 10, "ttfat": 30, "ttst": 10, "tpot": 60. / 4, "e2el": 100,
		"itl_mean": 20, "itl_min": 10, "itl_max": 40, "itl_p50": 10, "itl_p99": 10 + 30*0.98,
		"output_tokens": 5, "input_tokens": 9, "reasoning_tokens": 2, "cached_tokens": 8, "output_tokens_per_s": 5e7,
	}
	got := map[string]float64{}
	m := answer.NewMeter(&export.Run{}, answer.Config{})
	q := m.Measure(&r)
	var a Attainer
	for _, name := range expr.Names() {
		metric := metricOf(t, name)
		a.gaps = a.gaps[:0]
		v, ok := a.value(q, metric)
		if !ok {
			t.Errorf("%s is lacking", name)
		}
		if _, special := want[name]; !special {
			want[name], _ = q.Value(metric.Of).Float()
		}
		got[name] = v
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	empty := answer.Measured{}
	for _, name := range expr.Names() {
		if v, ok := a.value(&empty, metricOf(t, name)); ok {
			t.Errorf("%s of nothing is %v", name, v)
		}
	}
}
