package analyze

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// economicsRun returns two requests of five tokens from second 10 to second 12, and the scrapes of two
// GPUs.
func economicsRun() *memrun.Reader {
	const ms = 1_000_000
	at := func(start uint64, tokens ...uint64) export.Request {
		for i := range tokens {
			tokens[i] = start + tokens[i]*ms
		}
		return memrun.At(start, tokens...)
	}
	r := memrun.New("", []export.Request{at(10_000*ms, 200, 400, 600, 800, 1000), at(10_500*ms, 300, 600, 900, 1200, 1500)})
	r.Header.Experiments[0].WindowBoundaries = []uint64{9_000 * ms, 13_000 * ms}
	counter := &export.Series{Source: "s", Name: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", Labels: []export.Label{{Name: "UUID", Value: "GPU-a"}}}
	power := &export.Series{Source: "s", Name: "DCGM_FI_DEV_POWER_USAGE", Labels: []export.Label{{Name: "UUID", Value: "GPU-b"}}}
	for i := range uint64(8) {
		ns := (9_000 + 500*i) * ms
		r.Telemetry = append(r.Telemetry, export.Scrape{Source: "s", StartNS: ns, EndNS: ns, Samples: []export.Sample{{Series: counter, Value: 100e3 * float64(i)}, {Series: power, Value: 300}}})
	}
	return r
}

func economicsOf(t *testing.T, r *memrun.Reader, cfg Config, e figure.EconomicsConfig) *Experiment {
	t.Helper()
	cfg.Economics = &e
	rep, err := Run(t.Context(), r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &rep.Experiments[0]
}

// By hand. Both requests together last 2 s and have 10 tokens: 5 tokens/s. GPU a takes 100 J each half
// second: 400 J in the 2 s, between the scrapes at 10 s and 12 s, whose neighbors are 100 J away: ± 200
// J. GPU b takes 300 W: 600 J. So 1000 J, 500 W, 100 J a token, 500 J a request, 10⁶/100 tokens/s/MW.
// The TPOTs are 200 and 300 ms: 1 / mean is 4 tokens/s. The requests have 5 tokens in 1 s and in 1.5 s: the
// mean of the rates is (5 + 3.333)/2. At $3.6 a GPU hour two GPUs are $0.002 a second: 10⁶ · 0.002 / 5 = $400 a
// million tokens; at $0.36 a kWh, 100 J are $0.00001.
func TestEconomicsByHand(t *testing.T) {
	want := map[string][2]float64{
		figure.KeyUserRate: {4, 0}, figure.KeyUserRateE2E: {(5 + 5/1.5) / 2, 0}, figure.KeyRatePerGPU: {2.5, 0},
		figure.KeyEnergy: {1000, 200}, figure.KeyPower: {500, 100}, figure.KeyPerOutput: {100, 20}, figure.KeyPerRequest: {500, 100},
		figure.KeyRatePerMW: {10_000, 2_500}, figure.KeyGPUDollars: {400, 0}, figure.KeyEnergyDollars: {10, 2},
	}
	for name, cfg := range map[string]Config{"as they come": {}, "kept": {Series: true}} {
		x := economicsOf(t, economicsRun(), cfg, figure.EconomicsConfig{GPUHourPrice: 3.6, EnergyPrice: 0.36})
		e := x.Economics
		if e.GPUs != 2 || !e.Counted || len(e.Figures) != len(figure.EconomicsFigures) {
			t.Errorf("%s: %+v", name, e)
		}
		for _, f := range e.Figures {
			w, ok := want[f.Key]
			switch {
			case f.Key == figure.KeyPerToken: // the run has no input tokens
				if f.Why != "the input tokens of some requests are not known" {
					t.Errorf("%s: %+v", name, f)
				}
			case !ok || f.Why != "" || math.Abs(f.Value-w[0]) > 1e-9*w[0] || math.Abs(f.Bound-w[1]) > 1e-9*w[0]:
				t.Errorf("%s: %+v, want %v", name, f, w)
			}
		}
	}
}

// Idle power is subtracted for each GPU of the telemetry, and only on request; it cannot take all.
func TestEconomicsIdlePower(t *testing.T) {
	// 1000 J − 2 GPUs · 50 W · 2 s.
	e := economicsOf(t, economicsRun(), Config{}, figure.EconomicsConfig{IdleWatts: 50}).Economics
	if f := e.Figure(figure.KeyEnergy); f.Value != 800 || f.Bound != 200 {
		t.Errorf("%+v", f)
	}
	e = economicsOf(t, economicsRun(), Config{}, figure.EconomicsConfig{IdleWatts: 250}).Economics
	if f := e.Figure(figure.KeyPerOutput); f.Why != "the idle power of 250 W a GPU is at or above the mean power of 250 W a GPU" {
		t.Errorf("%+v", f)
	}
	if e.Figure(figure.KeyGPUDollars) != nil || e.Figure(figure.KeyEnergyDollars) != nil {
		t.Error("a price that was not asked for")
	}
}

// Each reason why there is no energy is stated; the rates of users do not need it.
func TestEconomicsMissing(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(r *memrun.Reader)
		cfg  Config
		e    figure.EconomicsConfig
		key  string
		why  string
	}{
		{"no telemetry", func(r *memrun.Reader) { r.Telemetry, r.Header.Meta = nil, &export.RunMeta{} }, Config{}, figure.EconomicsConfig{}, figure.KeyEnergy, "the telemetry holds no GPU: pa-record --collect-metrics with --metrics-url or --nvidia-smi"},
		{"no telemetry of perf_analyzer", func(r *memrun.Reader) { r.Telemetry = nil }, Config{}, figure.EconomicsConfig{}, figure.KeyEnergy, "the file holds no telemetry of GPUs"},
		{"no telemetry of GuideLLM", func(r *memrun.Reader) {
			r.Requests[0][0].HasMeta = true // as importers set it
			r.Telemetry, r.Header.Meta = nil, &export.RunMeta{Import: &export.Import{Format: "GuideLLM benchmarks.json"}}
		}, Config{}, figure.EconomicsConfig{}, figure.KeyEnergy, "GuideLLM benchmarks.json holds no telemetry of GPUs"},
		{"no number of GPUs", func(r *memrun.Reader) { r.Telemetry = nil }, Config{}, figure.EconomicsConfig{GPUHourPrice: 1}, figure.KeyGPUDollars, "the number of GPUs is not known: --gpus"},
		{"one GPU without energy", func(r *memrun.Reader) { r.Telemetry[6].Samples[0].Value = 5 }, Config{}, figure.EconomicsConfig{}, figure.KeyPerOutput, "GPU-a s: DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION: the counter fell from 500 J to 0.005 J"},
		{"no times of starts", func(r *memrun.Reader) {
			r.Header.Meta = &export.RunMeta{Import: &export.Import{Lacks: []export.Lack{{Part: export.PartStarts, Why: "no starts"}}}}
		}, Config{}, figure.EconomicsConfig{}, figure.KeyEnergy, "no starts"},
		{"pauses are left out", func(r *memrun.Reader) {
			r.Header.Meta = &export.RunMeta{Pauses: []export.Pause{{StartNS: 11_100e6, EndNS: 11_300e6, DurationNS: 200e6}}}
			r.Requests[0] = append(r.Requests[0], memrun.At(11_050e6, 11_350e6), memrun.At(12_000e6, 12_400e6, 12_500e6))
		}, Config{Selection: Selection{WithoutPauses: true}}, figure.EconomicsConfig{}, figure.KeyEnergy, "the time of the pauses is left out, but energy was used in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := economicsRun()
			tt.run(r)
			e := economicsOf(t, r, tt.cfg, tt.e).Economics
			if f := e.Figure(tt.key); f == nil || f.Why != tt.why || f.Value != 0 {
				t.Errorf("%+v, want %q", f, tt.why)
			}
		})
	}
}

// A stated number of GPUs counts for prices and rates; if the telemetry has others, a warning says what
// the energy is of.
func TestEconomicsStatedGPUs(t *testing.T) {
	x := economicsOf(t, economicsRun(), Config{}, figure.EconomicsConfig{GPUs: 5})
	if f := x.Economics.Figure(figure.KeyRatePerGPU); f.Value != 1 || x.Economics.Counted {
		t.Errorf("%+v", f)
	}
	if len(x.Warnings) == 0 || !strings.Contains(x.Warnings[len(x.Warnings)-1].Error(), "the telemetry holds 2 GPUs, but --gpus says 5") {
		t.Errorf("%q", x.Warnings)
	}
	r := economicsRun()
	r.Telemetry = nil
	if f := economicsOf(t, r, Config{}, figure.EconomicsConfig{GPUs: 5}).Economics.Figure(figure.KeyRatePerGPU); f.Value != 1 || f.Why != "" {
		t.Errorf("%+v", f)
	}
}

// The energy of a selected part is of its time and its tokens, and the order of the requests does not
// matter.
func TestEconomicsOfPart(t *testing.T) {
	// From 10 s to 11 s: 200 J and 300 J. The first request delivers 4 tokens in it, the second one; the
	// token at 11 s is of the next part.
	w := &Interval{From: 1e9, To: 2e9}
	e := economicsOf(t, economicsRun(), Config{Selection: Selection{Window: w}}, figure.EconomicsConfig{}).Economics
	if f := e.Figure(figure.KeyEnergy); f.Value != 500 {
		t.Errorf("%+v", f)
	}
	if f := e.Figure(figure.KeyPerOutput); math.Abs(f.Value-500/5.0) > 1e-9 {
		t.Errorf("%+v", f)
	}
	r := economicsRun()
	r.Requests[0][0], r.Requests[0][1] = r.Requests[0][1], r.Requests[0][0]
	if a, b := economicsOf(t, economicsRun(), Config{}, figure.EconomicsConfig{}).Economics, economicsOf(t, r, Config{}, figure.EconomicsConfig{}).Economics; !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// From 10 s to 10.5 s GPU a takes 100 J ± 200 J: the energy may be 0 within its bound, so nothing
// bounds its inverse.
func TestEconomicsOfUncertainEnergy(t *testing.T) {
	r := economicsRun()
	for i := range r.Telemetry {
		r.Telemetry[i].Samples = r.Telemetry[i].Samples[:1]
	}
	e := economicsOf(t, r, Config{Selection: Selection{Window: &Interval{From: 1e9, To: 1.5e9}}}, figure.EconomicsConfig{}).Economics
	if f := e.Figure(figure.KeyEnergy); f.Value != 100 || f.Bound != 200 {
		t.Errorf("%+v", f)
	}
	if f := e.Figure(figure.KeyRatePerMW); f.Value != 0 || f.Why != "the energy may be 0: it is 100 J ± 200 J" {
		t.Errorf("%+v", f)
	}
}

// By hand: 1000 J ± 200 J for 10 output and 30 input tokens.
func TestEconomicsPerToken(t *testing.T) {
	r := economicsRun()
	output, input := int64(5), int64(15)
	for i := range r.Requests[0] {
		r.Requests[0][i].Stated = &export.Stated{OutputTokens: &output, InputTokens: &input}
	}
	if f := economicsOf(t, r, Config{}, figure.EconomicsConfig{}).Economics.Figure(figure.KeyPerToken); f.Why != "" || f.Value != 25 || f.Bound != 5 {
		t.Errorf("%+v", f)
	}
}

// The table of figures is complete.
func TestEconomicsFigures(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figure.EconomicsFigures {
		if f.Key == "" || f.Label == "" || f.Unit == "" || f.Formula == "" || seen[f.Key] || f.Value != 0 || f.Why != "" {
			t.Errorf("%+v", f)
		}
		seen[f.Key] = true
	}
}
