package aiperf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// AIPerf writes the statistics of the records to profile_export_aiperf.json:
//
//	{"schema_version":V,"aiperf_version":V,
//	 TAG:{"unit":U,"avg":V,"p1":V,…,"min":V,"max":V,"std":V,"count":N,"sum":V},…}
//
// Metrics of the run as a whole have no more than an average.

const (
	recordsName = "profile_export.jsonl"
	rawName     = "profile_export_raw.jsonl"
	summaryName = "profile_export_aiperf.json"
)

var _ resultfile.Summarized = (*source)(nil)

func (s *source) SummaryNames(file string) []string {
	if file == recordsName || file == rawName {
		return []string{summaryName}
	}
	return nil
}

// UseSummary implements resultfile.Summarized.
func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	stored, err := resultfile.ParseSummary(name, content)
	if err != nil {
		return err
	}
	const metrics = "records." // where early releases keep them
	resultfile.Unwrap(stored.Figures, metrics)
	resultfile.Unwrap(stored.Texts, metrics)
	version, versioned := stored.Texts["aiperf_version"]
	if !versioned && stored.Texts["request_count.unit"] != "requests" { // releases before 0.4 write no version
		return errors.New("is not a summary of AIPerf: it has neither an aiperf_version nor a request_count in requests")
	}
	if version != "" && run.Meta.Tool == "AIPerf" {
		run.Meta.Tool += " " + version
	}
	summaryLoad(stored, run)
	summaryServer(stored, run)
	// AIPerf's rates are over the phase, unless the run was cancelled.
	if start, end, ok := summaryPhase(stored); ok && stored.Texts["was_cancelled"] != "true" {
		run.Meta.StartNS, run.Meta.EndNS = uint64(start.UnixNano()), uint64(end.UnixNano())
	}
	s.totals = &fileTotals{stored: stored, metrics: map[string]*resultfile.Spread{}, firstStart: math.Inf(1)}
	return stored.CompareKept(run, []string{"request_count.avg", "error_request_count.avg"}, "request_throughput.avg", func() (int64, error) {
		return s.file.CountText(`"request_start_ns"`)
	})
}

// summaryServer stores the model and the address of the server in run, unless the records name
// them. Their places differ by release.
func summaryServer(s *resultfile.Summary, run *export.Run) {
	var models []string
	for _, place := range []string{"input_config.endpoint.model_names.%d", "input_config.models.items.%d.name"} {
		for i := 0; ; i++ {
			name, ok := s.Texts[fmt.Sprintf(place, i)]
			if !ok {
				break
			}
			models = append(models, name)
		}
	}
	m := run.Meta
	m.Model = cmp.Or(m.Model, strings.Join(models, ", "))
	const endpoint = "input_config.endpoint."
	m.URL = cmp.Or(m.URL, resultfile.WithoutSecrets(s.Texts[endpoint+"urls.0"]), resultfile.WithoutSecrets(s.Texts[endpoint+"url"]))
	if streaming, ok := s.Texts[endpoint+"streaming"]; ok && m.Streaming == nil {
		m.Streaming = new(streaming == "true")
	}
}

// summaryLoad stores the load of the measured phase in run. If several phases are
// measured it stores none, because records do not name their phase.
func summaryLoad(s *resultfile.Summary, run *export.Run) {
	const loadgen = "input_config.loadgen." // before there were phases
	if rate, ok := s.Figures[loadgen+"request_rate"]; ok {
		resultfile.SetLoad(run, export.ModeRequestRate, rate)
	} else if concurrency, ok := s.Figures[loadgen+"concurrency"]; ok {
		resultfile.SetLoad(run, export.ModeConcurrency, concurrency)
	}
	found := -1
	for i := 0; ; i++ {
		kind, ok := s.Texts[fmt.Sprintf("input_config.phases.%d.kind", i)]
		if !ok {
			break
		}
		if kind != "profiling" {
			continue
		}
		if found >= 0 {
			return
		}
		found = i
	}
	phase := fmt.Sprintf("input_config.phases.%d.", found)
	concurrency, closed := s.Figures[phase+"concurrency"]
	rate, open := s.Figures[phase+"rate"]
	switch typ := s.Texts[phase+"type"]; {
	case typ == "concurrency" && closed:
		resultfile.SetLoad(run, export.ModeConcurrency, concurrency)
	case typ != "" && typ != "concurrency" && open:
		resultfile.SetLoad(run, export.ModeRequestRate, rate)
	}
}

// summaryPhase returns when the phase began and ended, in UTC.
func summaryPhase(s *resultfile.Summary) (start, end time.Time, ok bool) {
	const layout = "2006-01-02T15:04:05"
	start, err1 := time.Parse(layout, s.Texts["start_time"])
	end, err2 := time.Parse(layout, s.Texts["end_time"])
	return start, end, err1 == nil && err2 == nil && start.UnixNano() > 0 && end.After(start)
}

// fileTotals are the values of the records that count, to be compared with the
// summary.
type fileTotals struct {
	stored     *resultfile.Summary
	ok, failed int
	metrics    map[string]*resultfile.Spread
	// As floats, which AIPerf subtracts: they have steps of 256 ns.
	firstStart, lastEnd float64
}

// add counts a request and adds its metrics.
func (t *fileTotals) add(r *export.Request, metrics map[string]fileMetric) {
	if r.Phase == export.PhaseWarmup {
		return
	}
	if r.Status != export.StatusOK {
		t.failed++
		return
	}
	t.ok++
	t.firstStart = min(t.firstStart, float64(r.StartNS))
	if end, ok := r.FinalResponseNS(); ok {
		t.lastEnd = max(t.lastEnd, float64(r.StartNS)+float64(end-r.StartNS))
	}
	for tag, m := range metrics {
		if t.stored.Texts[tag+".unit"] != m.Unit {
			continue
		}
		var one float64
		var list []float64
		if m.Value == nil || string(m.Value) == "null" {
			continue
		}
		if json.Unmarshal(m.Value, &one) == nil {
			list = []float64{one}
		} else if json.Unmarshal(m.Value, &list) != nil {
			continue
		}
		if t.metrics[tag] == nil {
			t.metrics[tag] = &resultfile.Spread{}
		}
		t.metrics[tag].Add(list...)
	}
}

// compare computes the figures of the summary and compares them.
func (t *fileTotals) compare(c *resultfile.SelfCheck) {
	c.File, c.At = t.stored.File, ""
	computed := map[string]float64{
		"request_count.avg": float64(t.ok), "completed_request_count.avg": float64(t.ok + t.failed), "error_request_count.avg": float64(t.failed),
	}
	if t.stored.Kept.Partial() { // the other figures are of all requests
		t.stored.Compare(c, computed)
		return
	}
	if n := t.ok + t.failed; n > 0 {
		computed["request_error_rate.avg"] = 100 * float64(t.failed) / float64(n)
	}
	for tag, m := range t.metrics {
		m.Figures(computed, t.stored, tag, resultfile.Sample.Stat)
	}
	for tag, total := range totals {
		if m := t.metrics[tag]; m != nil {
			computed[total+".avg"] = m.Sum.Value()
		}
	}
	t.stored.Compare(c, computed)
}

// compareRates compares the duration of the requests, and the rates over it.
func (t *fileTotals) compareRates(c *resultfile.SelfCheck) {
	const step = 512e-9 // two Unix times in ns as floats
	seconds := (t.lastEnd - t.firstStart) * 1e-9
	if t.stored.Kept.Partial() || t.ok == 0 || !(seconds > 0) {
		return
	}
	if stored, ok := t.stored.Figures["benchmark_duration.avg"]; ok {
		c.Within("benchmark_duration.avg", stored, seconds, resultfile.Tolerance+step/seconds)
	}
	phase := t.phase()
	rate := func(tag string, n float64) {
		stored, ok := t.stored.Figures[tag+".avg"]
		if !ok {
			return
		}
		computed, uncertain := n/seconds, step/seconds
		if over := n / phase; math.Abs(stored-over) < math.Abs(stored-computed) {
			computed, uncertain = over, 1e-6/phase
		}
		c.Within(tag+".avg", stored, computed, resultfile.Tolerance+uncertain)
	}
	rate("request_throughput", float64(t.ok))
	in, out := t.metrics["input_sequence_length"], t.metrics["output_sequence_length"]
	if in != nil {
		rate("input_token_throughput", in.Sum.Value())
	}
	if out != nil {
		rate("output_token_throughput", out.Sum.Value())
	}
	if in != nil && out != nil {
		rate("total_token_throughput", in.Sum.Value()+out.Sum.Value())
	}
}

// phase returns the duration of the run in seconds, NaN if the summary lacks it. Rates
// can be over this duration too. Its ends are whole microseconds.
func (t *fileTotals) phase() float64 {
	start, end, ok := summaryPhase(t.stored)
	if !ok {
		return math.NaN()
	}
	return end.Sub(start).Seconds()
}
