package rayllmperf

import (
	"path"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

const (
	// prefix begins the names of the figures of the summary, a flat object:
	//
	//	{"version":S,"name":S,"model":S,"num_concurrent_requests":N,"results_ttft_s_quantiles_p50":T,"results_ttft_s_mean":T,…}
	prefix    = "results_"
	quantiles = "_quantiles_"
)

// metrics are the metrics of a request. The summary has statistics of each.
var metrics = [...]string{
	"inter_token_latency_s", "ttft_s", "end_to_end_latency_s", "request_output_throughput_token_per_s", "number_input_tokens", "number_output_tokens",
}

// isSummary recognizes the summary.
func isSummary(o *resultfile.Outline) bool {
	return !o.Array && o.Has("num_concurrent_requests", "mean_input_tokens", "stddev_output_tokens") && slices.ContainsFunc(o.Names, func(name string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// statement is the summary.
func statement() resultfile.Statement {
	return resultfile.Statement{
		Definitions: toolName,
		Is: func(o *resultfile.Object) bool {
			return o.Has("num_concurrent_requests", "results_num_requests_started", "results_ttft_s_mean")
		},
		Read: func(o *resultfile.Object, r *stated.Result) {
			r.Model = o.Text("model")
			r.Notes = append(r.Notes, wrongITL)
			l := stated.Level{Mode: export.ModeConcurrency, Value: o.Text("num_concurrent_requests")}
			for _, v := range o.Values {
				name, ok := strings.CutPrefix(v.Path, prefix)
				if !ok {
					continue
				}
				v.Unquote() // minima and maxima of numbers of tokens are texts
				metric, statistic := split(name)
				if v.IsNumber() {
					l.Figures = append(l.Figures, v.Figure(metric, statistic, unitOf(metric)))
				}
			}
			r.Levels = append(r.Levels, l)
		},
	}
}

// split splits the name of a figure.
func split(name string) (metric, statistic string) {
	if metric, statistic, ok := strings.Cut(name, quantiles); ok {
		return metric, statistic
	}
	for _, metric := range metrics {
		if statistic, ok := strings.CutPrefix(name, metric+"_"); ok {
			return metric, statistic
		}
	}
	return name, ""
}

// unitOf returns the unit of a metric, which its name ends with.
func unitOf(metric string) string {
	switch {
	case strings.HasSuffix(metric, "_token_per_s"):
		return "tokens/s"
	case strings.HasSuffix(metric, "_per_min"):
		return "requests/min"
	case strings.HasSuffix(metric, "_s"):
		return "s"
	}
	return ""
}

// totals are the values of the requests. The summary has statistics of each. nil ignores them.
type totals struct {
	stored          *resultfile.Summary
	spreads         [len(metrics)]resultfile.Spread
	started, errors int
}

// add adds a request.
func (t *totals) add(q *fileRequest) {
	if t == nil {
		return
	}
	t.started++
	if q.failed() {
		t.errors++
		return
	}
	for i, v := range []*float64{q.ITL, q.TTFT, q.Latency, q.Throughput, resultfile.Float(q.Input), resultfile.Float(q.Output)} {
		if v != nil {
			t.spreads[i].Add(*v)
		}
	}
}

// SummaryNames implements resultfile.Summarized.
func (s *source) SummaryNames(file string) []string {
	if name, ok := strings.CutSuffix(path.Base(file), suffix); ok {
		return []string{name + "summary.json"}
	}
	return nil
}

// UseSummary implements resultfile.Summarized.
func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	stored, err := resultfile.ParseSummary(name, content)
	if err != nil {
		return err
	}
	run.Meta.Model = stored.Texts["model"]
	resultfile.SetLoad(run, export.ModeConcurrency, stored.Figures["num_concurrent_requests"])
	figures := map[string]float64{}
	for name, v := range stored.Figures {
		if name, ok := strings.CutPrefix(name, prefix); ok {
			metric, statistic := split(name)
			figures[strings.TrimRight(metric+"."+statistic, ".")] = v
		}
	}
	stored.Figures = figures
	s.totals = &totals{stored: stored}
	return stored.CompareKept(run, []string{"num_requests_started"}, "", func() (int64, error) { return s.file.CountText(`"error_code"`) })
}
