package figure

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// An EconomicsConfig holds the parameters of the figures of [Economics].
type EconomicsConfig struct {
	// GPUs is the number of GPUs that served the run; 0 takes the number in the telemetry.
	GPUs int
	// IdleWatts is the power of one idle GPU, which is subtracted from the energy; 0 subtracts nothing.
	IdleWatts float64
	// GPUHourPrice is the price of one GPU for an hour, and EnergyPrice the price of a kWh, both in
	// dollars; 0 leaves out the figure.
	GPUHourPrice, EnergyPrice float64
}

// An Economics says what the tokens of a level cost. It is about the successful requests in the time of
// the level's rates.
type Economics struct {
	Config EconomicsConfig
	// Span is the measured time; the energy is of this time. It is empty if it is not known.
	Span Span
	// GPUs is the number of GPUs, 0 if it is not known. Counted says that the telemetry counted
	// them; else Config names them.
	GPUs    int
	Counted bool
	// Energy has an entry for each GPU of the telemetry.
	Energy []serverfigures.Energy
	// Figures holds the figures in the order of EconomicsFigures, and leaves out figures that
	// Config did not ask for.
	Figures []Figure
}

// Figure returns the figure with a key; nil if there is none.
func (e *Economics) Figure(key string) *Figure { return Find(e.Figures, key) }

// The keys of the figures.
const (
	KeyUserRate      = "output_tokens_per_s_per_user_decode"
	KeyUserRateE2E   = "output_tokens_per_s_per_user_e2e"
	KeyRatePerGPU    = "output_tokens_per_s_per_gpu"
	KeyEnergy        = "energy_j"
	KeyPower         = "power_w"
	KeyPerOutput     = "j_per_output_token"
	KeyPerToken      = "j_per_token"
	KeyPerRequest    = "j_per_request"
	KeyRatePerMW     = "output_tokens_per_s_per_mw"
	KeyGPUDollars    = "gpu_dollars_per_million_output_tokens"
	KeyEnergyDollars = "energy_dollars_per_million_output_tokens"
)

// EconomicsFigures are the figures of [Economics] without values, in the order of a report.
var EconomicsFigures = [...]Figure{
	{Key: KeyUserRate, Label: "output tokens/s/user (decode)", Unit: "tokens/s", Formula: "1 / mean TPOT", Source: "InferenceX: interactivity"},
	{Key: KeyUserRateE2E, Label: "output tokens/s/user (whole request)", Unit: "tokens/s", Formula: "mean over requests of output tokens / E2EL", Source: "AIPerf: e2e output token throughput"},
	{Key: KeyRatePerGPU, Label: "output tokens/s/GPU", Unit: "tokens/s", Formula: "output tokens/s / GPUs", Source: "InferenceX: output_tput_per_gpu"},
	{Key: KeyEnergy, Label: "energy", Unit: "J", Formula: "Σ over GPUs of the energy in the measured time − idle power · time"},
	{Key: KeyPower, Label: "mean power", Unit: "W", Formula: "energy / measured time"},
	{Key: KeyPerOutput, Label: "energy per output token", Unit: "J", Formula: "energy / output tokens", Source: "ML.ENERGY, arXiv 2505.06371"},
	{Key: KeyPerToken, Label: "energy per token", Unit: "J", Formula: "energy / (input tokens + output tokens)"},
	{Key: KeyPerRequest, Label: "mean energy per request", Unit: "J", Formula: "energy / requests", Source: "ML.ENERGY, arXiv 2505.06371"},
	{Key: KeyRatePerMW, Label: "output tokens/s/MW", Unit: "tokens/s", Formula: "10⁶ · output tokens / energy"},
	{Key: KeyGPUDollars, Label: "GPU price per million output tokens", Unit: "dollars", Formula: "10⁶ · price of a GPU hour · GPUs / (3600 · output tokens/s)", Source: "inference-perf, issue 139"},
	{Key: KeyEnergyDollars, Label: "energy price per million output tokens", Unit: "dollars", Formula: "energy per output token · price of a kWh / 3.6"},
}

// An economicsCollector gathers the values of a level that the usual figures lack.
type economicsCollector struct {
	cfg     EconomicsConfig
	rates   summary.Sample[float64] // output tokens per second of each request
	summary *summary.Summary        // of rates
}

// NewEconomics returns the group of [Economics]. Its values share memory.
func NewEconomics(cfg EconomicsConfig, memory *stat.Store) Group {
	return &economicsCollector{cfg: cfg, rates: summary.Sample[float64]{Memory: memory}}
}

// Add implements [Group].
func (c *economicsCollector) Add(p *answer.Measured) {
	if p.OutputTokens.OK && p.E2EL.OK && p.E2EL.V > 0 {
		c.rates.AddOne(float64(p.OutputTokens.V) / (float64(p.E2EL.V) / 1e9))
	}
}

// End implements [Group].
func (c *economicsCollector) End() error {
	c.summary = c.rates.Summary()
	return c.rates.Err
}

// Set sets the figures that need no telemetry; AddEnergy completes them.
func (c *economicsCollector) Set(x *Level, run *export.Run) {
	cfg := &c.cfg
	e := &Economics{Config: *cfg, Figures: make([]Figure, 0, len(EconomicsFigures))}
	for _, f := range EconomicsFigures {
		if f.Key == KeyGPUDollars && cfg.GPUHourPrice == 0 || f.Key == KeyEnergyDollars && cfg.EnergyPrice == 0 {
			continue
		}
		e.Figures = append(e.Figures, f)
	}
	if s := x.Metric(answer.TPOT); s != nil && s.Mean > 0 {
		e.set(KeyUserRate, 1e9/s.Mean, 0)
	} else {
		e.lack(KeyUserRate, cmp.Or(x.WhyNot(answer.TPOT.Key()), "no request has a TPOT"))
	}
	if c.summary != nil {
		e.set(KeyUserRateE2E, c.summary.Mean, 0)
	} else {
		e.lack(KeyUserRateE2E, cmp.Or(x.WhyNot("output_tokens_per_s"), withoutNormalized(run)))
	}
	x.Economics = e
}

// set gives the figure with a key a value, if Config asked for the figure.
func (e *Economics) set(key string, value, bound float64) {
	f := e.Figure(key)
	switch {
	case f == nil:
	case math.IsNaN(value) || math.IsInf(value, 0):
		f.Why = "the value is not a number"
	default:
		f.Value, f.Bound, f.Why = value, bound, ""
	}
}

// lack gives the figure with a key the reason why it has no value.
func (e *Economics) lack(key, why string) {
	if f := e.Figure(key); f != nil {
		f.Why = why
	}
}

// noGPUs is the reason why a figure per GPU has no value.
const noGPUs = "the number of GPUs is not known: --gpus"

// AddEnergy completes the figures of economics by the telemetry of a run with so many GPUs. without is the reason
// why a run without energy has none.
func (x *Level) AddEnergy(run *export.Run, energy []serverfigures.Energy, gpus int, without string) {
	e := x.Economics
	e.Energy = energy
	if e.GPUs = e.Config.GPUs; e.GPUs == 0 {
		e.GPUs, e.Counted = gpus, gpus > 0
	}
	seconds := float64(x.DurationNS) / 1e9
	rate := x.Throughput.OutputTokens
	noRate := cmp.Or(x.WhyNot("output_tokens_per_s"), "the rate of output tokens is not known")
	perRate := func(key, why string, value func() float64) {
		switch {
		case why != "":
			e.lack(key, why)
		case !rate.OK || rate.PerSecond <= 0:
			e.lack(key, noRate)
		default:
			e.set(key, value(), 0)
		}
	}
	why := ""
	if e.GPUs == 0 {
		why = noGPUs
	}
	perRate(KeyRatePerGPU, why, func() float64 { return rate.PerSecond / float64(e.GPUs) })
	perRate(KeyGPUDollars, why, func() float64 {
		return 1e6 * e.Config.GPUHourPrice * float64(e.GPUs) / (3600 * rate.PerSecond)
	})
	joules, bound, why := x.energy(run, without)
	each := func(key string, n float64, lacking string, scale float64) {
		switch {
		case why != "":
			e.lack(key, why)
		case n <= 0 || math.IsNaN(n):
			e.lack(key, lacking)
		default:
			e.set(key, scale*joules/n, scale*bound/n)
		}
	}
	each(KeyEnergy, 1, "", 1)
	each(KeyPower, seconds, "", 1)
	tokens := perSecond(rate) * seconds
	each(KeyPerOutput, tokens, noRate, 1)
	each(KeyPerToken, perSecond(x.Throughput.TotalTokens)*seconds, cmp.Or(x.WhyNot("output_tokens_per_s"), "the input tokens of some requests are not known"), 1)
	each(KeyPerRequest, perSecond(x.Throughput.Requests)*seconds, "the rate of requests is not known", 1)
	each(KeyEnergyDollars, tokens, noRate, e.Config.EnergyPrice/3.6)
	switch f := e.Figure(KeyRatePerMW); {
	case why != "":
		f.Why = why
	case tokens <= 0:
		f.Why = noRate
	case bound >= joules:
		f.Why = fmt.Sprintf("the energy may be 0: it is %.4g J ± %.4g J", joules, bound)
	default: // the bound of the inverse, at the end that is further away
		value := 1e6 * tokens / joules
		e.set(KeyRatePerMW, value, 1e6*tokens/(joules-bound)-value)
	}
}

// energy returns the energy of all GPUs in the measured time, the bound of its error, or the reason
// why it is not known.
func (x *Level) energy(run *export.Run, without string) (joules, bound float64, why string) {
	e := x.Economics
	switch {
	case x.DurationNS <= 0:
		return 0, 0, cmp.Or(x.WhyNot("throughput"), withoutDuration(run))
	case e.Span.Duration().Nanoseconds() != x.DurationNS:
		return 0, 0, "the time of the pauses is left out, but energy was used in it"
	case len(e.Energy) == 0:
		return 0, 0, without
	}
	for i := range e.Energy {
		g := &e.Energy[i]
		if g.NA != "" {
			return 0, 0, strings.TrimPrefix(fmt.Sprintf("%s: %s", g.Of, g.NA), ": ")
		}
		joules += g.Joules
		bound += g.ErrorJoules
	}
	if idle := e.Config.IdleWatts * float64(len(e.Energy)) * float64(x.DurationNS) / 1e9; idle > 0 {
		if idle >= joules {
			return 0, 0, fmt.Sprintf("the idle power of %v W a GPU is at or above the mean power of %.4g W a GPU", e.Config.IdleWatts, joules/float64(len(e.Energy))/(float64(x.DurationNS)/1e9))
		}
		joules -= idle
	}
	return joules, bound, ""
}
