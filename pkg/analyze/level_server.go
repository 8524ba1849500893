package analyze

import (
	"context"
	"math"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// addServerFigures reads the telemetry of r and adds the figures of servers to the
// experiments of rep.
// An observer sees the telemetry, too; nil for none.
func addServerFigures(ctx context.Context, r export.Reader, rep *Report, observer Observer) error {
	levels := make([]serverfigures.Level, len(rep.Experiments))
	for i := range rep.Experiments {
		e, x := &rep.Experiments[i], &r.Run().Experiments[i]
		l := &levels[i]
		l.FromNS, l.ToNS = measuredSpan(e, x)
		l.EnergyFromNS, l.EnergyToNS = energySpan(e)
		l.SeveralModels, l.SeveralResponses, l.ClientMean = len(e.Models) > 0, e.SeveralResponses, e.meanOf
		if x.Meta != nil && e.Selected == nil {
			l.Stats = x.Meta.ServerStats
		}
	}
	if observer != nil {
		r = observedScrapes{r, observer}
	}
	results, err := serverfigures.Read(ctx, r, levels)
	gpus := gpusOf(results)
	for i := range results {
		e := &rep.Experiments[i]
		if e.Economics != nil {
			if asked := e.Economics.Config.GPUs; asked > 0 && gpus > 0 && gpus != asked {
				e.Warnings = append(e.Warnings, newWarning(KindServer, "the telemetry holds %s, but --gpus says %d: energy and power are of all GPUs in the telemetry", plural.Of(gpus, "GPU"), asked))
			}
			e.AddEnergy(r.Run(), results[i].Energy, gpus, rep.withoutGPUs())
		}
		if e.Sessions != nil {
			e.Sessions.SetGPUs(gpus)
		}
		e.Server = results[i].Figures
		if e.Phases != nil {
			e.AddPhases(r.Run())
		}
		for _, w := range results[i].Warnings {
			e.Warnings = append(e.Warnings, newWarning(KindServer, "%s", w))
		}
	}
	return err
}

// measuredSpan returns the time that figures of servers cover.
func measuredSpan(e *Experiment, x *export.Experiment) (from, to uint64) {
	if e.Selected != nil {
		return e.Selected.FromNS, e.Selected.ToNS
	}
	if n := len(x.WindowBoundaries); n > 1 && x.WindowBoundaries[n-1] != math.MaxUint64 {
		return x.WindowBoundaries[0], x.WindowBoundaries[n-1]
	}
	if x.Meta != nil {
		return x.Meta.StartNS, x.Meta.EndNS
	}
	return 0, 0
}

// meanOf returns the mean of a metric over the requests to a model. In a run of one model
// it covers all requests, even if the server names the model differently.
func (e *Experiment) meanOf(model string, m answer.Metric) (mean float64, ok bool) {
	metrics := e.Metrics
	if len(e.Models) > 0 {
		metrics = nil
		for i := range e.Models {
			if e.Models[i].Model == model {
				metrics = e.Models[i].Metrics
				break
			}
		}
	}
	if s := summary.Find(metrics, m); s != nil && s.N > 0 {
		return s.Mean, true
	}
	return 0, false
}

// gpusOf returns the number of GPUs in the telemetry of a run: of all levels together.
func gpusOf(results []serverfigures.Result) int {
	seen := map[string]bool{}
	for i := range results {
		for _, g := range results[i].Energy {
			seen[g.Of] = true
		}
	}
	return len(seen)
}

// energySpan returns the measured time of the level; 0, 0 if it is not known or if energies are not
// wanted.
func energySpan(e *Experiment) (from, to uint64) {
	switch {
	case e.DurationNS <= 0:
	case e.Economics != nil:
		return e.Economics.Span.FromNS, e.Economics.Span.ToNS
	case e.Sessions != nil: // for the number of GPUs
		return e.Sessions.Span.FromNS, e.Sessions.Span.ToNS
	}
	return 0, 0
}
