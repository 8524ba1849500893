package foreign

import (
	"errors"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// inference-perf writes the statistics of the requests of all stages to
// summary_lifecycle_metrics.json. Both files begin with a prefix if the user chose one:
//
//	{"benchmark_time_seconds":T,"load_summary":{"count":N,…},
//	 "successes":{"count":N,"latency":{METRIC:{"mean":T,"min":T,…,"p99.9":T},…},
//	              "throughput":{…},"output_len":{…},…},
//	 "failures":{"count":N,"request_latency":{…},…}}
//
// Times are in seconds.

const (
	infPerfRequests = "per_request_lifecycle_metrics.json"
	infPerfSummary  = "summary_lifecycle_metrics.json"
	infPerfSettings = "config.yaml"
)

var _ summarized = (*infPerf)(nil)

func (s *infPerf) summaryNames(file string) []string {
	if prefix, ok := strings.CutSuffix(file, infPerfRequests); ok {
		return []string{prefix + infPerfSummary, prefix + infPerfSettings}
	}
	return nil
}

func (s *infPerf) useSummary(run *export.Run, name string, content []byte) error {
	if named(name, infPerfSettings) {
		return s.useSettings(run, name, content)
	}
	stored, err := parseSummary(name, content)
	if err != nil {
		return err
	}
	if _, ok := stored.figures["load_summary.count"]; !ok {
		return errors.New("is not a summary of inference-perf: it has no load_summary with a count")
	}
	s.totals = &infPerfTotals{stored: stored, first: math.Inf(1)}
	_ = stored.compareKept(run, []string{"load_summary.count"}, "successes.throughput.requests_per_sec", func() (int64, error) {
		return countElements(s.file.cursor(s.begin-1, columnChunk)) // next reports the error
	})
	return nil
}

// infPerfTotals are the values of the requests, to be compared with the summary.
type infPerfTotals struct {
	stored      *summary
	ok, failed  int
	first, last float64 // the earliest start, the latest end

	latency, perToken, ttft, tpot, gaps, output, failedLatency spread

	early bool // a request is in the layout before 0.4, whose formulas are others
}

func (t *infPerfTotals) add(q *infPerfRequest) {
	if q.Start == nil || q.End == nil {
		t.early = true
		return
	}
	latency := *q.End - *q.Start
	t.first, t.last = min(t.first, *q.Start), max(t.last, *q.End)
	if q.Error != nil {
		t.failed++
		t.failedLatency.add(latency)
		return
	}
	t.ok++
	if q.Info == nil || q.Info.Response == nil || q.Info.Response.OutputTokens == nil {
		t.early = true
		return
	}
	m := q.Info.Response
	n := float64(*m.OutputTokens)
	t.latency.add(latency)
	t.output.add(n)
	if n > 0 {
		t.perToken.add(latency / n)
	} else {
		t.perToken.add(0)
	}
	times := m.TokenTimes
	if len(times) < 2 {
		return
	}
	t.ttft.add(times[0] - *q.Start)
	if n > 1 {
		t.tpot.add((times[len(times)-1] - times[0]) / (n - 1))
	}
	for i := 1; i < len(times); i++ {
		t.gaps.add(times[i] - times[i-1])
	}
}

func (t *infPerfTotals) compare(c *selfCheck) {
	c.file = t.stored.file
	computed := map[string]float64{
		"load_summary.count": float64(t.ok + t.failed), "successes.count": float64(t.ok), "failures.count": float64(t.failed),
	}
	if t.stored.kept.partial() { // the other figures are of all requests
		t.stored.compare(c, computed)
		return
	}
	seconds := t.last - t.first
	if t.ok+t.failed > 0 {
		computed["benchmark_time_seconds"] = seconds
	}
	if !t.early {
		for metric, values := range map[string]*spread{
			"successes.latency.request_latency": &t.latency, "successes.latency.normalized_time_per_output_token": &t.perToken,
			"successes.latency.time_per_output_token": &t.tpot, "successes.latency.time_to_first_token": &t.ttft,
			"successes.latency.inter_token_latency": &t.gaps, "successes.output_len": &t.output, "failures.request_latency": &t.failedLatency,
		} {
			values.figures(computed, t.stored, metric)
		}
		if seconds > 0 {
			computed["successes.throughput.requests_per_sec"] = float64(t.ok) / seconds
			computed["successes.throughput.output_tokens_per_sec"] = t.output.sum.Value() / seconds
		}
	}
	t.stored.compare(c, computed)
}
