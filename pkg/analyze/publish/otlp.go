package publish

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
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
		out := &otlpWriter{b: bufio.NewWriter(w)}
		names := distinctNames(runs)
		for i, r := range runs {
			out.request(names[i], r)
		}
		return errors.Join(out.err, out.b.Flush())
	}
}

// An otlpWriter writes JSON piece by piece: a run may have millions of points.
type otlpWriter struct {
	b   *bufio.Writer
	err error // of a value that has no JSON
}

func (w *otlpWriter) text(s string) { _, _ = w.b.WriteString(s) } // Flush returns the error

func (w *otlpWriter) value(v any) {
	b, err := json.Marshal(v)
	w.err = cmp.Or(w.err, err)
	_, _ = w.b.Write(sanitize.JSON(b))
}

// otlpUnits are the units in UCUM, by ours.
var otlpUnits = map[string]string{"seconds": "s", "joules": "J", "watts": "W", "bytes": "By", "tokens": "{token}", "dollars": "{dollar}"}

// request writes the request of a run.
func (w *otlpWriter) request(run string, r *Run) {
	resource := attributes([]label{{"service.name", "pa-analyze"}, {"pa.run", run}, {"pa.definitions", r.Definitions}, {"pa.tool", r.Tool}, {"url.full", r.URL}})
	w.text(`{"resourceMetrics":[{"resource":`)
	w.value(sheet.Object{"attributes", resource})
	w.text(`,"scopeMetrics":[{"scope":{"name":"github.com/pa-tools/pa"},"metrics":[`)
	for i, g := range grouped([]*Run{r}, func(f *Figure) string { return "pa." + f.Name }, (*Histogram).otlpName) {
		if i > 0 {
			w.text(",")
		}
		w.metric(r, g)
	}
	w.text("]}]}]}\n")
}

// metric writes a metric with its points.
func (w *otlpWriter) metric(r *Run, g *group) {
	runs := []*Run{r}
	var kind, unit, help string
	if _, _, f, h := g.places[0].at(runs); h != nil {
		kind, unit, help = "histogram", h.Unit, h.Help
	} else {
		kind, unit, help = "gauge", f.Unit, f.Help
	}
	w.text(`{"name":`)
	w.value(g.name)
	if u := otlpUnits[unit]; u != "" {
		w.text(`,"unit":`)
		w.value(u)
	}
	if help != "" {
		w.text(`,"description":`)
		w.value(strings.ToValidUTF8(help, "�"))
	}
	w.text(`,"` + kind + `":{"dataPoints":[`)
	for i, p := range g.places {
		if i > 0 {
			w.text(",")
		}
		_, l, f, h := p.at(runs)
		if h != nil {
			w.value(h.otlpPoint(r, l))
			continue
		}
		w.value(sheet.Object{"attributes", r.otlpAttributes(l, f, ""), "startTimeUnixNano", nanos(l.Start), "timeUnixNano", nanos(l.End), "asDouble", json.Number(f.Text)})
	}
	w.text("]")
	if kind == "histogram" {
		w.text(`,"aggregationTemporality":` + strconv.Itoa(cumulative))
	}
	w.text("}}")
}

// otlpName returns the histogram's name in OTLP.
func (h *Histogram) otlpName() string { return cmp.Or(h.OTel.Name, "pa."+h.Name) }

// otlpPoint returns the point of the histogram.
func (h *Histogram) otlpPoint(r *Run, l *Level) sheet.Object {
	counts, before := make([]string, 0, len(h.AtMost)+1), 0
	for _, n := range append(h.AtMost[:len(h.AtMost):len(h.AtMost)], h.N) {
		counts = append(counts, strconv.Itoa(n-before))
		before = n
	}
	bounds := make([]json.Number, len(h.Bounds))
	for k, b := range h.Bounds {
		bounds[k] = json.Number(b)
	}
	return sheet.Object{
		"attributes", r.otlpAttributes(l, &Figure{Model: r.Model}, h.OTel.TokenType), "startTimeUnixNano", nanos(l.Start), "timeUnixNano", nanos(l.End),
		"count", strconv.Itoa(h.N), "sum", json.Number(h.sum()), "bucketCounts", counts, "explicitBounds", bounds,
	}
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
