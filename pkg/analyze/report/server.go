package report

import (
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
)

// servers are the figures of servers and GPUs as a grid, with one row of heads;
// nil when there are none.
func servers(e *analyze.Experiment) *grid {
	if len(e.Server) == 0 {
		return nil
	}
	g := &grid{indent: "  ", left: 2}
	g.add("server", "of", "n", "mean", "max", "client − server")
	for i := range e.Server {
		f := &e.Server[i]
		most, rest := "", ""
		if f.Gauge {
			most = quantity(f.Unit, f.Max)
		}
		if ns, ok := f.ClientMinusServer(); ok {
			rest = span(ns)
		}
		g.add(f.Name, plain(f.Of), strconv.FormatUint(f.N, 10), quantity(f.Unit, f.Mean), most, rest)
	}
	return g
}

// quantity formats a figure of a server.
func quantity(unit string, v float64) string {
	switch unit {
	case "ns":
		return span(v)
	case "ratio":
		return percent(v)
	case "bytes":
		return number(v/(1<<20)) + " MiB"
	case "W":
		return number(v) + " W"
	}
	return number(v)
}

// jsonServer is a figure of a server.
type jsonServer struct {
	Name              string   `json:"name"`
	Metric            string   `json:"metric"`
	Of                string   `json:"of"`
	Unit              string   `json:"unit"`
	N                 uint64   `json:"n"`
	Mean              float64  `json:"mean"`
	Min               *float64 `json:"min,omitempty"`
	Max               *float64 `json:"max,omitempty"`
	Client            *float64 `json:"client_mean,omitempty"`
	ClientMinusServer *float64 `json:"client_minus_server,omitempty"`
}

func jsonServers(all []analyze.ServerFigure) (out []jsonServer) {
	for i := range all {
		f := &all[i]
		x := jsonServer{Name: f.Name, Metric: f.Metric, Of: f.Of, Unit: f.Unit, N: f.N, Mean: f.Mean}
		if f.Gauge {
			x.Min, x.Max = &f.Min, &f.Max
		}
		if ns, ok := f.ClientMinusServer(); ok {
			x.Client, x.ClientMinusServer = &f.Client, &ns
		}
		out = append(out, x)
	}
	return out
}

// csvServers are the figures as rows: server[NAME of OF].
func csvServers(all []analyze.ServerFigure) (rows [][]string) {
	for i := range all {
		f := &all[i]
		row := []string{"server[" + f.Name + " of " + f.Of + "]", f.Unit, strconv.FormatUint(f.N, 10), float(f.Mean)}
		if f.Gauge {
			row = append(row, "", float(f.Min))
			for range analyze.Levels {
				row = append(row, "")
			}
			row = append(row, float(f.Max))
		}
		rows = append(rows, row)
	}
	return rows
}
