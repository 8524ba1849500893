package k6

import (
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// k6 has three layouts of a summary: of handleSummary, of --summary-export, and of --summary-export with --new-machine-readable-summary:
//
//	{"root_group":{…},"options":{…},"state":{…},"metrics":{"http_req_duration":{"type":"trend","contains":"time","values":{"avg":MS,"p(90)":MS,…}},…}}
//	{"root_group":{…},"metrics":{"http_req_duration":{"avg":MS,"p(90)":MS,…},"http_reqs":{"count":N,"rate":R},…}}
//	{"config":{…},"metadata":{"k6_version":S},"results":{"metrics":[{"name":S,"type":S,"contains":S,"values":{"avg":MS,"p90":MS,…}},…]}}

const (
	metricsPrefix = "metrics."
	elements      = "results.metrics"
)

// statements are the summaries.
func statements() []resultfile.Statement {
	return []resultfile.Statement{{
		Definitions: toolName,
		Sniff: func(o *resultfile.Outline) bool {
			if o.Array {
				return false
			}
			return o.Has("root_group", "metrics") || o.First == "root_group" && (o.HasInner("groups") || o.HasInner("checks") || o.HasInner("path")) ||
				o.First == "config" && o.HasInner("duration", "execution")
		},
		Is: func(o *resultfile.Object) bool {
			return o.Has("root_group.path") && (o.Has("metrics.iterations.count") || o.Has("metrics.iterations.values.count")) ||
				o.Has("metadata.k6_version", elements+".0.name")
		},
		Read: read,
	}}
}

// read reads a summary.
func read(o *resultfile.Object, r *stated.Result) {
	l := stated.Level{}
	if ms, ok := o.Value("state.testRunDurationMs"); ok {
		l.Figures = append(l.Figures, ms.Figure("testRunDurationMs", "", "ms"))
	}
	if s, ok := o.Value("config.duration"); ok && s.IsNumber() {
		l.Figures = append(l.Figures, s.Figure("duration", "", "s"))
	}
	for _, m := range o.Elements(elements) {
		for _, v := range m.Values {
			if statistic, ok := strings.CutPrefix(v.Path, "values."); ok && v.IsNumber() {
				l.Figures = append(l.Figures, figure(&v, m.Text("name"), statistic, m.Text("contains")))
			}
		}
	}
	for _, v := range o.Values {
		path, ok := strings.CutPrefix(v.Path, metricsPrefix)
		at := statisticAt(path)
		if !ok || at < 0 || !v.IsNumber() {
			continue
		}
		metric := strings.TrimSuffix(path[:at], ".values")
		l.Figures = append(l.Figures, figure(&v, metric, path[at+1:], o.Text(metricsPrefix+metric+".contains")))
	}
	r.Release = o.Text("metadata.k6_version")
	r.Levels = append(r.Levels, l)
}

// statisticAt returns the dot before the statistic; −1 for none. The name of a percentile, such as p(99.9), can hold a dot.
func statisticAt(path string) int {
	if at := strings.LastIndex(path, ".p("); at >= 0 && strings.HasSuffix(path, ")") {
		return at
	}
	return strings.LastIndexByte(path, '.')
}

// figure returns the figure of a metric. contains is what the metric measures, as k6 calls it; "" if the summary does not say it.
func figure(v *resultfile.Value, metric, statistic, contains string) stated.Figure {
	name, _, _ := strings.Cut(metric, "{") // without the tags of a part
	if contains == "" {
		switch {
		case strings.HasPrefix(name, "data_"):
			contains = "data"
		case strings.HasSuffix(name, "_duration"), strings.HasPrefix(name, "http_req_") && name != "http_req_failed":
			contains = "time"
		}
	}
	unit := map[string]string{"time": "ms", "data": "bytes"}[contains]
	switch statistic {
	case "rate":
		if name != "checks" && !strings.HasSuffix(name, "_failed") { // shares
			unit = strings.TrimPrefix(unit+"/s", "/s")
			if unit == "" {
				unit = "1/s"
			}
		}
	case "passes", "fails", "matches", "total":
		unit = ""
	}
	return v.Figure(metric, statistic, unit)
}
