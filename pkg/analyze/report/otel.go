package report

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// OTelSchema names the layout that OTelJSON writes.
const OTelSchema = "pa-report-otel/1"

// OTelJSON writes one object in the layout of schemas/report-otel.schema.json: as [JSON], but each
// metric has its name in OpenTelemetry's conventions for GenAI, and times of metrics and of servers
// are seconds. A number of seconds is exactly the number of nanoseconds of JSON: it has the same digits.
func OTelJSON(in Input) Renderer { return sheet.JSON(jsonLayout{otel: true}.report(&in)) }

// OTelJSONArray writes an array with an object as of [OTelJSON] for each input, also for one input or
// none.
func OTelJSONArray(inputs []Input) Renderer {
	return sheet.JSON(sheet.List(inputs, jsonLayout{otel: true}.report))
}

// otelOperations holds the values of gen_ai.operation.name by the end of a path.
var otelOperations = []struct{ path, operation string }{
	{"chat/completions", "chat"}, {"completions", "text_completion"}, {"embeddings", "embeddings"}, {"responses", "chat"}, {"v1/messages", "chat"},
}

// OTelAttributes returns the attributes that hold for all metrics of a run, as far as the run knows
// them.
func OTelAttributes(rep *analyze.Report) map[string]string {
	all := map[string]string{}
	if kind := rep.Run.ServiceKind; kind != nil && *kind != "" {
		all[explain.OTelProvider] = *kind
	}
	if path := rep.Run.Endpoint; path != nil {
		for _, o := range otelOperations {
			if strings.HasSuffix(*path, o.path) {
				all[explain.OTelOperation] = o.operation
				break
			}
		}
	}
	if m := rep.Run.Meta; rep.Model != "" && (m == nil || len(m.Models) <= 1) {
		all[explain.OTelModel] = rep.Model
	}
	return all
}

// otelMetrics returns metrics as objects with a name, a unit and statistics.
func otelMetrics(all []summary.Metric) []sheet.Object {
	list := make([]sheet.Object, 0, len(all))
	for _, x := range all {
		key, unit, format := x.Definition.Key(), explain.OTelUnit(string(x.Definition.Unit())), float
		if unit == "s" {
			format = explain.Seconds
		}
		o := explain.OTelOf(key)
		var attributes sheet.Object
		if o.TokenType != "" {
			attributes = sheet.Object{explain.OTelTokenType, o.TokenType}
		}
		head := sheet.Object{"name", explain.OTelName(key), "key", key, "unit", unit, "attributes", attributes, "differs", sheet.Opt(o.Differs)}
		list = append(list, append(head, statistics(x.Summary, format)...))
	}
	return list
}

// OTelRowsJSON is like RowsJSON, but the names are attributes of OpenTelemetry's conventions for GenAI, else
// ours with the prefix "pa."; times are seconds, and instants stay nanoseconds. A failed request has the
// attribute error.type.
func OTelRowsJSON(w io.Writer, groups Groups) RowWriter {
	all := slices.Clone(groups.columns())
	for _, m := range [...]struct {
		answer.Metric
		value func(*Row) export.Int
	}{{answer.ReasoningTokens, func(r *Row) export.Int { return r.Reasoning }}, {answer.CachedTokens, func(r *Row) export.Int { return r.Cached }}} {
		if !slices.ContainsFunc(all, func(c column) bool { return c.name == m.Key() }) {
			all = append(all, ofMetric(m.Metric, m.value, column{}))
		}
	}
	for i := range all {
		c := &all[i]
		switch name := c.name; name {
		case "model":
			c.name = explain.OTelModel
		case "start_ns": // an instant
			c.name = "pa." + name
		default:
			c.name = explain.OTelAttribute(name)
			if text := c.text; strings.HasSuffix(name, "_ns") {
				c.text = func(r *Row) string {
					if ns := text(r); ns != "" {
						return explain.SecondsOf(ns)
					}
					return ""
				}
			}
		}
	}
	all = append(all, column{name: explain.OTelError, quote: true, text: func(r *Row) string {
		if r.Excluded != "failed" {
			return ""
		}
		return r.Status
	}})
	return &rowJSON{w: bufio.NewWriter(w), columns: all}
}
