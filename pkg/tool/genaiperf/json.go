package genaiperf

import (
	"io"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// JSON writes the JSON report without the release's arguments (input_config). It returns
// dialect.ErrNoFormat for releases before 24.06.
func (r *Report) JSON(w io.Writer) error {
	k := &r.Release.rules
	if k.jsonReport == jsonNone {
		return dialect.ErrNoFormat
	}
	o := k.object(r.Metrics)
	if len(r.Sessions) > 0 {
		var all py.Object
		for i := range r.Sessions {
			all = append(all, py.Member{Name: r.Sessions[i].ID, Value: k.object(r.Sessions[i].Metrics)})
		}
		o = append(o, py.Member{Name: "sessions", Value: all})
	}
	_, err := w.Write(py.AppendJSON(nil, o, 2))
	return err
}

// object returns metrics in the layout of the JSON report.
func (r *rules) object(metrics []Metric) py.Object {
	stats := []string{"p25", "p50", "p75", "p90", "p95", "p99", "min", "max", "std"}
	switch {
	case r.jsonReport == json2406:
		stats = []string{"p99", "p95", "p90", "p75", "p50", "p25", "max", "min", "std"}
	case r.lowPercentiles:
		stats = append([]string{"p1", "p5", "p10"}, stats...)
	}
	var o py.Object
	for i := range metrics {
		m := &metrics[i]
		one := py.Object{{Name: "unit", Value: m.Unit}, {Name: "avg", Value: m.Avg}}
		if !m.Single {
			for _, s := range stats {
				one = append(one, py.Member{Name: s, Value: m.stat(s)})
			}
		}
		o = append(o, py.Member{Name: m.Name, Value: one})
	}
	return o
}
