package infperf

import (
	"errors"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
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
	requestsName = "per_request_lifecycle_metrics.json"
	summaryName  = "summary_lifecycle_metrics.json"
	settingsName = "config.yaml"
)

var _ resultfile.Summarized = (*source)(nil)

func (s *source) SummaryNames(file string) []string {
	if prefix, ok := strings.CutSuffix(file, requestsName); ok {
		return []string{prefix + summaryName, prefix + settingsName}
	}
	return nil
}

func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	if resultfile.Named(name, settingsName) {
		return s.useSettings(run, name, content)
	}
	stored, err := resultfile.ParseSummary(name, content)
	if err != nil {
		return err
	}
	if _, ok := stored.Figures["load_summary.count"]; !ok {
		return errors.New("is not a summary of inference-perf: it has no load_summary with a count")
	}
	s.totals = &fileTotals{stored: stored, first: math.Inf(1)}
	_ = stored.CompareKept(run, []string{"load_summary.count"}, "successes.throughput.requests_per_sec", func() (int64, error) {
		return resultfile.CountElements(s.file.Cursor(s.begin-1, resultfile.ColumnChunk)) // next reports the error
	})
	return nil
}

// fileTotals are the values of the requests, to be compared with the summary.
type fileTotals struct {
	stored      *resultfile.Summary
	ok, failed  int
	first, last float64 // the earliest start, the latest end

	latency, perToken, ttft, tpot, gaps, output, failedLatency resultfile.Spread

	early bool // a request is in the layout before 0.4, whose formulas are others
}

func (t *fileTotals) add(q *fileRequest) {
	if q.Start == nil || q.End == nil {
		t.early = true
		return
	}
	latency := *q.End - *q.Start
	t.first, t.last = min(t.first, *q.Start), max(t.last, *q.End)
	if q.Error != nil {
		t.failed++
		t.failedLatency.Add(latency)
		return
	}
	t.ok++
	if q.Info == nil || q.Info.Response == nil || q.Info.Response.OutputTokens == nil {
		t.early = true
		return
	}
	m := q.Info.Response
	n := float64(*m.OutputTokens)
	t.latency.Add(latency)
	t.output.Add(n)
	if n > 0 {
		t.perToken.Add(latency / n)
	} else {
		t.perToken.Add(0)
	}
	times := m.TokenTimes
	if len(times) < 2 {
		return
	}
	t.ttft.Add(times[0] - *q.Start)
	if n > 1 {
		t.tpot.Add((times[len(times)-1] - times[0]) / (n - 1))
	}
	for i := 1; i < len(times); i++ {
		t.gaps.Add(times[i] - times[i-1])
	}
}

func (t *fileTotals) compare(c *resultfile.SelfCheck) {
	c.File = t.stored.File
	computed := map[string]float64{
		"load_summary.count": float64(t.ok + t.failed), "successes.count": float64(t.ok), "failures.count": float64(t.failed),
	}
	if t.stored.Kept.Partial() { // the other figures are of all requests
		t.stored.Compare(c, computed)
		return
	}
	seconds := t.last - t.first
	if t.ok+t.failed > 0 {
		computed["benchmark_time_seconds"] = seconds
	}
	if !t.early {
		for metric, values := range map[string]*resultfile.Spread{
			"successes.latency.request_latency": &t.latency, "successes.latency.normalized_time_per_output_token": &t.perToken,
			"successes.latency.time_per_output_token": &t.tpot, "successes.latency.time_to_first_token": &t.ttft,
			"successes.latency.inter_token_latency": &t.gaps, "successes.output_len": &t.output, "failures.request_latency": &t.failedLatency,
		} {
			values.Figures(computed, t.stored, metric)
		}
		if seconds > 0 {
			computed["successes.throughput.requests_per_sec"] = float64(t.ok) / seconds
			computed["successes.throughput.output_tokens_per_sec"] = t.output.Sum.Value() / seconds
		}
	}
	t.stored.Compare(c, computed)
}
