package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// economicsFigures returns a line for each figure with a value, and a line for each reason why figures
// have no value.
func economicsFigures(e *analyze.Economics) []string {
	return figureLines(e.Figures, func(f *analyze.LevelFigure) string {
		text := amount(f.Unit, f.Value)
		if f.Bound > 0 {
			text += " ± " + amount(f.Unit, f.Bound)
		}
		if f.Key == analyze.KeyEnergy {
			text += ", " + meters(e.Energy)
		}
		return text
	})
}

// economicsSettings says which parameters the figures of e have.
func economicsSettings(e *analyze.Economics) string {
	text := "economics: the number of GPUs is not known"
	if e.GPUs > 0 {
		text = "economics: " + plural.Of(e.GPUs, "GPU")
		if e.Counted {
			text += " in the telemetry"
		}
	}
	c := &e.Config
	for _, x := range []struct {
		v              float64
		before, behind string
	}{{c.IdleWatts, "; ", " W of idle power a GPU subtracted"}, {c.GPUHourPrice, "; $", " for a GPU hour"}, {c.EnergyPrice, "; $", " for a kWh"}} {
		if x.v > 0 {
			text += x.before + strconv.FormatFloat(x.v, 'f', -1, 64) + x.behind
		}
	}
	return text
}

// meters counts the GPUs by where their energy comes from.
func meters(all []serverfigures.Energy) string {
	counters, sampled := 0, 0
	for i := range all {
		if all[i].Sampled {
			sampled++
		} else {
			counters++
		}
	}
	var parts []string
	if counters > 0 {
		parts = append(parts, "energy counters of "+plural.Of(counters, "GPU"))
	}
	if sampled > 0 {
		parts = append(parts, "power samples of "+plural.Of(sampled, "GPU"))
	}
	return "from " + strings.Join(parts, " and ")
}

// amount formats a figure with its unit.
func amount(unit string, v float64) string {
	switch unit {
	case "dollars":
		return "$" + Number(v)
	case "tokens/s": // the labels name it
		return Number(v)
	}
	return Number(v) + " " + unit
}

func jsonEconomics(e *analyze.Economics) sheet.Object {
	if e == nil {
		return nil
	}
	from := ""
	switch {
	case e.Counted:
		from = "telemetry"
	case e.GPUs > 0:
		from = "flag"
	}
	c := &e.Config
	return sheet.Object{
		"settings", sheet.Object{"idle_watts", sheet.Opt(c.IdleWatts), "gpu_hour_price", sheet.Opt(c.GPUHourPrice), "energy_price_per_kwh", sheet.Opt(c.EnergyPrice)},
		"gpus", sheet.Opt(e.GPUs), "gpus_from", sheet.Opt(from), "start_ns", sheet.Opt(e.Span.FromNS), "end_ns", sheet.Opt(e.Span.ToNS),
		"figures", jsonLevelFigures(e.Figures), "energy", sheet.List(e.Energy, jsonEnergy),
	}
}

func jsonEnergy(g *serverfigures.Energy) sheet.Object {
	o := sheet.Object{"of", g.Of, "gpu", sheet.Opt(g.GPU), "host", sheet.Opt(g.Host), "metric", sheet.Opt(g.Metric), "from", meterName(g)}
	if g.NA == "" {
		o = append(o, "j", g.Joules, "error_bound_j", sheet.Opt(g.ErrorJoules))
	}
	return append(o, "covered", sheet.Opt(g.Covered), "n", g.N, "na", sheet.Opt(g.NA))
}

// meterName names the kind of samples that an energy is made of.
func meterName(g *serverfigures.Energy) string {
	if g.Sampled {
		return "power"
	}
	return "counter"
}

// csvEconomics returns the lines of the figures: "economics." and the key, with the value in the column
// "mean" and, where there is one, a line with the bound of its error. Then comes the energy of each GPU.
func csvEconomics(e *analyze.Economics) []csvLine {
	if e == nil {
		return nil
	}
	var lines []csvLine
	add := func(name, unit, n, why string, value, bound float64) {
		l := csvLine{name: "economics." + name, unit: unit, n: n}
		if why == "" {
			l.mean = float(value)
		}
		lines = append(lines, l)
		if why == "" && bound > 0 {
			lines = append(lines, csvLine{name: l.name + ".error_bound", unit: unit, mean: float(bound)})
		}
	}
	if e.GPUs > 0 {
		add("gpus", "count", "", "", float64(e.GPUs), 0)
	}
	for i := range e.Figures {
		f := &e.Figures[i]
		add(f.Key, f.Unit, "", f.Why, f.Value, f.Bound)
	}
	for i := range e.Energy {
		g := &e.Energy[i]
		add(fmt.Sprintf("energy_j[%s]", g.Of), "J", strconv.Itoa(g.N), g.NA, g.Joules, g.ErrorJoules)
	}
	return lines
}
