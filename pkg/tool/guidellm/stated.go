package guidellm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

const definitions = "GuideLLM"

// statements are the reports in JSON that keep no requests, and the reports in YAML and CSV.
func statements() []resultfile.Statement {
	report := resultfile.Statement{
		Definitions: definitions, Dialect: family,
		Is: func(o *resultfile.Object) bool {
			return o.Has("metadata.guidellm_version") || o.Has("benchmarks.0.metrics.request_latency.successful.mean")
		},
		Read: readStated,
		Decode: func(content []byte, r *stated.Result) ([]*resultfile.Object, bool, error) {
			if !isYAML(content) {
				return nil, false, nil
			}
			o, err := resultfile.ReadYAML(content)
			return []*resultfile.Object{o}, true, err
		},
		Sniff: func(o *resultfile.Outline) bool { return isYAML(o.Head) },
	}
	table := resultfile.Statement{
		Definitions: definitions, Dialect: family, Is: func(*resultfile.Object) bool { return false },
		Decode: func(content []byte, r *stated.Result) ([]*resultfile.Object, bool, error) {
			if !isCSV(content) {
				return nil, false, nil
			}
			return nil, true, readTable(content, r)
		},
		Sniff: func(o *resultfile.Outline) bool { return isCSV(o.Head) },
	}
	return []resultfile.Statement{report, table}
}

// isYAML reports whether a text is a report in YAML. Its members stand in their own order or in the order of their names.
func isYAML(text []byte) bool {
	text, _ = bytes.CutPrefix(text, []byte("---\n"))
	for _, start := range []string{"metadata:\n", "benchmarks:\n", "args:\n", "config:\n"} {
		if bytes.HasPrefix(text, []byte(start)) {
			return bytes.Contains(text, []byte("guidellm")) || bytes.Contains(text, []byte("\nbenchmarks:\n")) || start == "benchmarks:\n"
		}
	}
	return false
}

// readStated reads the levels of a report.
func readStated(o *resultfile.Object, r *stated.Result) {
	r.Release = o.Text("metadata.guidellm_version")
	data := o.Settings("config.spec.data.0.", func(name string) bool { return name == "kind" })
	if data == nil {
		data = o.Settings("args.data.", func(string) bool { return false })
	}
	for _, b := range o.Elements("benchmarks") {
		text := func(paths ...string) string {
			for _, p := range paths {
				for _, config := range []string{"config.", "args.", "benchmarker."} { // its names in different releases
					if v := b.Text(config + p); v != "" {
						return v
					}
				}
			}
			return ""
		}
		r.Model = cmp.Or(r.Model, text("backend.model"), b.Text("worker.backend_model"))
		r.URL = cmp.Or(r.URL, resultfile.WithoutSecrets(cmp.Or(text("backend.target"), b.Text("worker.backend_target"))))
		e := loadOf(text("strategy.type_"), text("strategy.streams"), text("strategy.rate"), text("strategy.max_concurrency"))
		l := stated.Level{Mode: e.Mode, Value: e.Value, Settings: slices.Clip(data), Figures: figuresOf(b)}
		l.Settings = append(l.Settings, b.Settings("config.strategy.", func(name string) bool {
			return name == "type_" || name == "streams" || name == "rate" || name == "worker_count"
		})...)
		r.Levels = append(r.Levels, l)
	}
}

// figuresOf returns the figures of a benchmark. Figures of successful requests have the name of their metric, other figures also the
// status. A distribution without values has zeros in the file: it is left out, and so is the total if all requests were successful.
func figuresOf(b *resultfile.Object) (all []stated.Figure) {
	for _, name := range []string{"duration", "warmup_duration", "cooldown_duration"} {
		if v, ok := b.Value(name); ok && v.IsNumber() {
			all = append(all, v.Figure(name, "", "s"))
		}
	}
	for i := range b.Values {
		v := &b.Values[i]
		path, ok := strings.CutPrefix(v.Path, "metrics.")
		if !ok || !v.IsNumber() || v.Text == "null" {
			continue
		}
		parts := strings.Split(path, ".")
		at := slices.IndexFunc(parts, func(part string) bool {
			return slices.Contains([]string{"successful", "errored", "incomplete", "total"}, part)
		})
		if at < 1 {
			continue
		}
		metric, statistic := strings.Join(parts[:at], "."), strings.TrimPrefix(strings.Join(parts[at+1:], "."), "percentiles.")
		if statistic == "" { // request_totals
			all = append(all, v.Figure(metric+" "+parts[at], "", ""))
			continue
		}
		count := func(status string) float64 {
			return b.Number("metrics." + strings.Join(parts[:at], ".") + "." + status + ".count")
		}
		if n := count(parts[at]); n == 0 || parts[at] == "total" && n == count("successful") || strings.HasPrefix(statistic, "pdf") {
			continue
		}
		unit := unitOf(metric)
		if parts[at] != "successful" {
			metric += " " + parts[at]
		}
		all = append(all, v.Figure(metric, statistic, unit))
	}
	return all
}

// unitOf returns the unit of a metric.
func unitOf(metric string) string {
	switch {
	case strings.HasSuffix(metric, "_ms"):
		return "ms"
	case metric == "requests_per_second":
		return "requests/s"
	case strings.HasSuffix(metric, "tokens_per_second"):
		return "tokens/s"
	case strings.HasSuffix(metric, "token_count"):
		return "tokens"
	case metric == "request_latency", strings.HasSuffix(metric, "_delay"):
		return "s"
	}
	return ""
}
