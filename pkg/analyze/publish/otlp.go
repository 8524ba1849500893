package publish

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// cumulative is the value of OTLP's enum for histograms that count since their start time.
const cumulative = 2

// otlp writes an ExportMetricsServiceRequest for each run, a line of JSON each. Figures are gauges with the names of the other forms and the
// prefix "pa."; the histograms have the names of OpenTelemetry's conventions for GenAI, where there is one.
func otlp(runs []*Run) sheet.Renderer {
	return func(w io.Writer) error {
		names := distinctNames(runs)
		for i, r := range runs {
			b, err := json.Marshal(otlpRequest(names[i], r))
			if err != nil {
				return err
			}
			if _, err := w.Write(sanitize.JSON(append(b, '\n'))); err != nil {
				return err
			}
		}
		return nil
	}
}

// otlpUnits are the units in UCUM, by ours.
var otlpUnits = map[string]string{"seconds": "s", "joules": "J", "watts": "W", "bytes": "By", "tokens": "{token}", "dollars": "{dollar}"}

// An otlpMetric is a metric with its points.
type otlpMetric struct {
	name, unit, help string
	kind             string // the member that holds the points
	points           []sheet.Object
}

func otlpRequest(run string, r *Run) sheet.Object {
	var all []*otlpMetric
	byName := map[string]*otlpMetric{}
	metric := func(name, unit, help, kind string) *otlpMetric {
		m := byName[name]
		if m == nil {
			m = &otlpMetric{name: name, unit: unit, help: help, kind: kind}
			byName[name] = m
			all = append(all, m)
		}
		return m
	}
	for i := range r.Levels {
		l := &r.Levels[i]
		for j := range l.Figures {
			f := &l.Figures[j]
			m := metric("pa."+f.Name, otlpUnits[f.Unit], f.Help, "gauge")
			m.points = append(m.points, sheet.Object{
				"attributes", r.otlpAttributes(l, f, ""), "startTimeUnixNano", nanos(l.Start), "timeUnixNano", nanos(l.End), "asDouble", json.Number(f.Text),
			})
		}
		for j := range l.Histograms {
			h := &l.Histograms[j]
			name := h.OTel.Name
			if name == "" {
				name = "pa." + h.Name
			}
			m := metric(name, otlpUnits[h.Unit], h.Help, "histogram")
			counts, before := make([]string, 0, len(h.AtMost)+1), 0
			for _, n := range append(h.AtMost[:len(h.AtMost):len(h.AtMost)], h.N) {
				counts = append(counts, strconv.Itoa(n-before))
				before = n
			}
			bounds := make([]json.Number, len(h.Bounds))
			for k, b := range h.Bounds {
				bounds[k] = json.Number(b)
			}
			m.points = append(m.points, sheet.Object{
				"attributes", r.otlpAttributes(l, &Figure{Model: r.Model}, h.OTel.TokenType), "startTimeUnixNano", nanos(l.Start), "timeUnixNano", nanos(l.End),
				"count", strconv.Itoa(h.N), "sum", json.Number(h.sum()), "bucketCounts", counts, "explicitBounds", bounds,
			})
		}
	}
	metrics := sheet.ListOf(all, func(m *otlpMetric) sheet.Object {
		data := sheet.Object{"dataPoints", m.points}
		if m.kind == "histogram" {
			data = append(data, "aggregationTemporality", cumulative)
		}
		return sheet.Object{"name", m.name, "unit", sheet.Opt(m.unit), "description", sheet.Opt(strings.ToValidUTF8(m.help, "�")), m.kind, data}
	})
	resource := attributes([]label{{"service.name", "pa-analyze"}, {"pa.run", run}, {"pa.definitions", r.Definitions}, {"pa.tool", r.Tool}, {"url.full", r.URL}})
	return sheet.Object{"resourceMetrics", []sheet.Object{{
		"resource",
		sheet.Object{"attributes", resource},
		"scopeMetrics",
		[]sheet.Object{{"scope", sheet.Object{"name", "github.com/pa-tools/pa"}, "metrics", metrics}},
	}}}
}

// otlpAttributes returns the attributes of a point.
func (r *Run) otlpAttributes(l *Level, f *Figure, tokenType string) []sheet.Object {
	all := []label{{"pa.level", l.Name}, {"pa.mode", l.Mode}, {"pa.load", l.Value}, {"pa.of", f.Of}, {"pa.statistic", f.Statistic}, {explain.OTelTokenType, tokenType}}
	for name, value := range r.Attributes {
		if name != explain.OTelModel {
			all = append(all, label{name, value})
		}
	}
	slices.SortFunc(all[6:], func(a, b label) int { return strings.Compare(a.name, b.name) })
	return attributes(append(all, label{explain.OTelModel, f.Model}))
}

// attributes returns labels as attributes; empty ones are left out.
func attributes(all []label) []sheet.Object {
	list := []sheet.Object{}
	for _, x := range all {
		if x.value != "" {
			list = append(list, sheet.Object{"key", x.name, "value", sheet.Object{"stringValue", strings.ToValidUTF8(x.value, "�")}})
		}
	}
	return list
}

// nanos returns a time as the nanoseconds since 1970, which OTLP has as a string.
func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
