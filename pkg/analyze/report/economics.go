package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
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
		return "$" + number(v)
	case "tokens/s": // the labels name it
		return number(v)
	}
	return number(v) + " " + unit
}

type jsonEconomics struct {
	Settings struct {
		IdleWatts    float64 `json:"idle_watts,omitempty"`
		GPUHourPrice float64 `json:"gpu_hour_price,omitempty"`
		EnergyPrice  float64 `json:"energy_price_per_kwh,omitempty"`
	} `json:"settings"`
	GPUs     int                         `json:"gpus,omitempty"`
	GPUsFrom string                      `json:"gpus_from,omitempty"`
	StartNS  uint64                      `json:"start_ns,omitempty"`
	EndNS    uint64                      `json:"end_ns,omitempty"`
	Figures  map[string]*jsonLevelFigure `json:"figures"`
	Energy   []jsonEnergy                `json:"energy"`
}

type jsonLevelFigure struct {
	Value *float64 `json:"value,omitempty"`
	Bound float64  `json:"error_bound,omitempty"`
	Unit  string   `json:"unit"`
	From  string   `json:"from,omitempty"`
	Why   string   `json:"why,omitempty"`
}

type jsonEnergy struct {
	Of      string   `json:"of"`
	GPU     string   `json:"gpu,omitempty"`
	Host    string   `json:"host,omitempty"`
	Metric  string   `json:"metric,omitempty"`
	From    string   `json:"from"`
	Joules  *float64 `json:"j,omitempty"`
	Bound   float64  `json:"error_bound_j,omitempty"`
	Covered float64  `json:"covered,omitempty"`
	N       int      `json:"n"`
	NA      string   `json:"na,omitempty"`
}

func jsonEconomicsOf(e *analyze.Economics) *jsonEconomics {
	if e == nil {
		return nil
	}
	j := &jsonEconomics{GPUs: e.GPUs, StartNS: e.Span.FromNS, EndNS: e.Span.ToNS, Energy: []jsonEnergy{}}
	j.Settings.IdleWatts, j.Settings.GPUHourPrice, j.Settings.EnergyPrice = e.Config.IdleWatts, e.Config.GPUHourPrice, e.Config.EnergyPrice
	switch {
	case e.Counted:
		j.GPUsFrom = "telemetry"
	case e.GPUs > 0:
		j.GPUsFrom = "flag"
	}
	j.Figures = jsonLevelFigures(e.Figures)
	for i := range e.Energy {
		g := &e.Energy[i]
		x := jsonEnergy{Of: g.Of, GPU: g.GPU, Host: g.Host, Metric: g.Metric, From: meterName(g), Covered: g.Covered, N: g.N, NA: g.NA}
		if g.NA == "" {
			x.Joules, x.Bound = &g.Joules, g.ErrorJoules
		}
		j.Energy = append(j.Energy, x)
	}
	return j
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
func csvEconomics(e *analyze.Economics) [][]string {
	if e == nil {
		return nil
	}
	var rows [][]string
	line := func(name, unit, n, why string, value, bound float64) {
		row := []string{"economics." + name, unit, n}
		if why == "" {
			row = append(row, float(value))
		}
		rows = append(rows, row)
		if why == "" && bound > 0 {
			rows = append(rows, []string{"economics." + name + ".error_bound", unit, "", float(bound)})
		}
	}
	if e.GPUs > 0 {
		rows = append(rows, []string{"economics.gpus", "count", "", strconv.Itoa(e.GPUs)})
	}
	for i := range e.Figures {
		f := &e.Figures[i]
		line(f.Key, f.Unit, "", f.Why, f.Value, f.Bound)
	}
	for i := range e.Energy {
		g := &e.Energy[i]
		line(fmt.Sprintf("energy_j[%s]", g.Of), "J", strconv.Itoa(g.N), g.NA, g.Joules, g.ErrorJoules)
	}
	return rows
}
