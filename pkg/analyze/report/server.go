package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// maxFigures bounds the rows of one name. GPUs, models and servers are fewer, but labels
// may have any number of values.
const maxFigures = 64

// servers returns the figures of servers and GPUs as a table. It leaves out columns without a value. Times are in the unit of the report; if they
// differ too much for one unit, each row has its own unit.
func servers(e *analyze.Experiment, common TimeUnit) sheet.Table {
	g := newGrid(2, 1)
	g.Add("server metric", "of", "n", "mean", "max", "total", "seen by client", "network + client")
	shown := map[string]int{}
	apart := farApart(e.Server)
	for i := range e.Server {
		f, unit := &e.Server[i], common
		if apart {
			unit = RequestUnit(figureTimes(f))
		}
		if shown[f.Name]++; shown[f.Name] > maxFigures {
			continue
		}
		row := []string{f.Name, sanitize.Fit(plain(f.Of), maxOf), strconv.FormatUint(f.N, 10), "", "", "", "", ""}
		if f.NA != "" {
			row[2], row[3] = "", "n/a"
			g.Add(row...)
			continue
		}
		switch f.Kind {
		case serverfigures.Counter:
			row[5] = Quantity(f.Unit, f.Total, unit)
		case serverfigures.Gauge:
			row[4] = Quantity(f.Unit, f.Max, unit)
			fallthrough
		default:
			row[3] = Quantity(f.Unit, f.Mean, unit)
		}
		if ns, ok := f.ClientMinusServer(); ok {
			row[6], row[7] = unit.Span(f.Client), unit.Span(ns)
		} else if f.Compared {
			row[6], row[7] = unit.Span(f.Client), "n/a ("+f.Incomparable+")"
		}
		g.Add(row...)
	}
	for i := range e.Server { // in their order
		if name := e.Server[i].Name; shown[name] > maxFigures {
			g.Add(name, fmt.Sprintf("%d more, which are left out here: --format json has them", shown[name]-maxFigures), "", "", "", "", "", "")
			shown[name] = 0
		}
	}
	g.DropEmpty()
	return g
}

// farApart reports whether the times of figures do not suit one unit: microseconds beside seconds.
func farApart(all []serverfigures.Figure) bool {
	var ns []float64
	for i := range all {
		ns = append(ns, figureTimes(&all[i])...)
	}
	least, most := extremes(ns)
	return most >= 1e5*least
}

// figureTimes returns the times of a figure; none if it is no time.
func figureTimes(f *serverfigures.Figure) []float64 {
	if f.Unit != "ns" || f.NA != "" {
		return nil
	}
	ns := []float64{f.Mean}
	if f.Kind == serverfigures.Counter {
		ns = []float64{f.Total}
	}
	if f.Compared {
		ns = append(ns, f.Client)
	}
	return ns
}

// serverNotes returns the reasons why figures have no value: a line for each reason.
func serverNotes(e *analyze.Experiment) []string {
	var lacking sheet.Reasons
	for i := range e.Server {
		if f := &e.Server[i]; f.NA != "" {
			lacking.Add(f.Name, f.NA)
		}
	}
	return naLines(&lacking)
}

// maxOf bounds the name of a figure's object in characters, because labels may have any
// length.
const maxOf = 100

// Quantity formats a figure of a server, whose unit is as in [serverfigures.Figure]. It
// shows times in the unit times and bytes as MiB.
func Quantity(unit string, v float64, times TimeUnit) string {
	switch unit {
	case "ns":
		return times.Span(v)
	case "ratio":
		return percent(v)
	case "bytes":
		return Number(v/(1<<20)) + " MiB"
	case "W", "J":
		return Number(v) + " " + unit
	}
	return Number(v)
}

// server returns a figure of a server in the layout. With the names of OpenTelemetry, times are seconds.
func (w jsonLayout) server(f *serverfigures.Figure) sheet.Object {
	name, unit := f.Name, f.Unit
	value := func(v float64) any { return v }
	if w.otel {
		name = cmp.Or(explain.OTelServer(name), name)
		if unit == string(answer.Nanoseconds) {
			unit = explain.OTelUnit(unit)
			value = func(v float64) any { return json.Number(explain.Seconds(v)) }
		}
	}
	o := sheet.Object{
		"name", name, "metric", f.Metric, "kind", f.Kind.String(), "of", f.Of, "source", sheet.Opt(f.Source), "host", sheet.Opt(f.Host), "gpu", sheet.Opt(f.GPU),
		"unit", unit, "n", f.N,
	}
	if f.NA != "" {
		return append(o, "na", f.NA)
	}
	switch f.Kind {
	case serverfigures.Counter:
		o = append(o, "total", value(f.Total))
	case serverfigures.Gauge:
		o = append(o, "mean", value(f.Mean), "min", value(f.Min), "max", value(f.Max))
	default:
		o = append(o, "mean", value(f.Mean))
	}
	if ns, ok := f.ClientMinusServer(); ok {
		o = append(o, "client_mean", value(f.Client), "client_minus_server", value(ns))
	} else if f.Compared {
		o = append(o, "client_mean", value(f.Client), "client_minus_server_na", sheet.Opt(f.Incomparable))
	}
	return o
}

// csvServers returns the figures as lines: server[NAME of OF]. The growth of a counter,
// its only number, is in the column of the mean.
func csvServers(all []serverfigures.Figure) (lines []csvLine) {
	for i := range all {
		f := &all[i]
		l := csvLine{name: "server[" + f.Name + " of " + f.Of + "]", unit: f.Unit}
		if f.NA == "" {
			l.n, l.mean = strconv.FormatUint(f.N, 10), float(f.Mean)
			switch f.Kind {
			case serverfigures.Counter:
				l.mean = float(f.Total)
			case serverfigures.Gauge:
				l.min, l.max = float(f.Min), float(f.Max)
			}
		}
		lines = append(lines, l)
	}
	return lines
}
