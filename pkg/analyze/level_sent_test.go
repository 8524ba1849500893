package analyze

import (
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// every returns n requests that start every gap seconds.
func every(n int, gap float64) []export.Request {
	var all []export.Request
	for i := range n {
		at := 1 + float64(i)*gap
		all = append(all, sent(at, at+0.01))
	}
	return all
}

// The rate of a level is what was sent, by the recorder's figure or by the starts. A distance
// of more than 5 % from the named rate is a warning, once for each cause.
func TestSentRate(t *testing.T) {
	failed := every(30, 0.1)
	for i := range 10 {
		failed[3*i] = as(failed[3*i], export.StatusTimeout, export.PhaseMeasured, 9)
	}
	const held = "8.3 of the 10 requests per second that were asked for were sent: 9 had to wait, because the most requests allowed were in flight"
	for _, tt := range []struct {
		name     string
		requests []export.Request
		mode     string
		value    string
		meta     *export.ExperimentMeta
		run      *export.RunMeta
		want     float64 // 0: none
		warning  string  // "" for none
	}{
		{name: "the starts", requests: every(30, 0.1), value: "10", want: 10},
		{name: "failed requests were sent", requests: failed, value: "10", want: 10},
		{name: "too slow", requests: every(30, 0.12), value: "10", want: 8.3333333, warning: "8.333 requests/s were sent, 16.7 % below the named rate of 10; compare levels by the rate that was sent"},
		{name: "too fast", requests: every(30, 0.08), value: "10", want: 12.5, warning: "12.5 requests/s were sent, 25 % above the named rate of 10; compare levels by the rate that was sent"},
		{name: "within 5 %", requests: every(30, 0.1/0.96), value: "10", want: 9.6},
		{name: "few starts say little", requests: every(10, 0.12), value: "10", want: 8.3333333},
		{name: "the recorder's figure", requests: every(10, 0.1), value: "10", meta: &export.ExperimentMeta{Client: &export.ClientMeta{AchievedPerSecond: 8}}, want: 8, warning: "8 requests/s were sent, 20 % below the named rate of 10; compare levels by the rate that was sent"},
		{name: "the recorder says why", requests: every(10, 0.1), value: "10", meta: &export.ExperimentMeta{Client: &export.ClientMeta{AchievedPerSecond: 8.3}, Warnings: []string{held}}, want: 8.3, warning: held},
		{name: "a rank's share", requests: every(30, 0.4), value: "10", meta: &export.ExperimentMeta{Share: &export.LevelShare{Value: "2.5"}}, run: &export.RunMeta{Shard: &export.ShardMeta{WorldSize: 4}}, want: 2.5},
		{name: "a closed loop", requests: every(30, 0.12), mode: export.ModeConcurrency, value: "10"},
		{name: "a schedule", requests: every(30, 0.12), value: "0.0"},
		{name: "one request", requests: every(1, 1), value: "10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := reader("", tt.requests)
			e := &f.Header.Experiments[0]
			e.Mode, e.Value, e.Meta = export.ModeRequestRate, tt.value, tt.meta
			if tt.mode != "" {
				e.Mode = tt.mode
			}
			f.Header.Meta = tt.run
			x := &analyzed(t, f, Config{Streaming: &streamed}).Experiments[0]
			if x.Sent.OK != (tt.want > 0) || math.Abs(x.Sent.PerSecond-tt.want) > 1e-6 {
				t.Errorf("%+v requests/s sent, want %v", x.Sent, tt.want)
			}
			var got []string
			for _, w := range x.Warnings {
				if strings.Contains(w.Error(), "sent") {
					got = append(got, w.Error())
					if k := AsWarning(w).Kind; k != KindLoad {
						t.Errorf("a warning of the kind %s", k)
					}
				}
			}
			if text := strings.Join(got, "\n"); text != tt.warning {
				t.Errorf("warnings %q, want %q", text, tt.warning)
			}
		})
	}
}

// The estimate of the highest rate is in requests that were sent.
func TestMaxLoadOfSentRates(t *testing.T) {
	slow := every(40, 1.0/16) // named 20
	for i := range slow {
		slow[i] = sent(1+float64(i)/16, 1+float64(i)/16+2)
	}
	f := reader("", every(40, 1.0/8), slow) // named 10 and 20
	for i, value := range []string{"10", "20"} {
		f.Header.Experiments[i].Mode, f.Header.Experiments[i].Value = export.ModeRequestRate, value
	}
	m := analyzed(t, f, Config{Streaming: &streamed, SLO: objective(t, "ttft<=1s"), SLOTarget: 0.5}).MaxLoad()
	// The geometric mean, because the shares are as far from 50 % on both sides.
	if m == nil || m.Within.Load != 8 || m.Beyond.Load != 16 || math.Abs(m.Estimate-math.Sqrt(8*16)) > 1e-9 || m.Within.Value != "10" {
		t.Errorf("%+v, want 11.3 between 8 and 16", m)
	}
}
