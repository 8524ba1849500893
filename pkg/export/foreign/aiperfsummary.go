package foreign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// AIPerf writes the statistics of the records to profile_export_aiperf.json:
//
//	{"schema_version":V,"aiperf_version":V,
//	 TAG:{"unit":U,"avg":V,"p1":V,…,"min":V,"max":V,"std":V,"count":N,"sum":V},…}
//
// Metrics of the run as a whole have no more than an average.

const (
	aiperfRecords = "profile_export.jsonl"
	aiperfRaw     = "profile_export_raw.jsonl"
	aiperfSummary = "profile_export_aiperf.json"
)

var _ summarized = (*aiperf)(nil)

func (s *aiperf) summaryNames(file string) []string {
	if file == aiperfRecords || file == aiperfRaw {
		return []string{aiperfSummary}
	}
	return nil
}

func (s *aiperf) useSummary(run *export.Run, name string, content []byte) error {
	stored, err := parseSummary(name, content)
	if err != nil {
		return err
	}
	const metrics = "records." // where early releases keep them
	unwrap(stored.figures, metrics)
	unwrap(stored.texts, metrics)
	version, versioned := stored.texts["aiperf_version"]
	if !versioned && stored.texts["request_count.unit"] != "requests" { // releases before 0.4 write no version
		return errors.New("is not a summary of AIPerf: it has neither an aiperf_version nor a request_count in requests")
	}
	if version != "" && run.Meta.Tool == "AIPerf" {
		run.Meta.Tool += " " + version
	}
	stored.aiperfLoad(run)
	stored.aiperfServer(run)
	// AIPerf's rates are over the phase, unless the run was cancelled.
	if start, end, ok := stored.aiperfPhase(); ok && stored.texts["was_cancelled"] != "true" {
		run.Meta.StartNS, run.Meta.EndNS = uint64(start.UnixNano()), uint64(end.UnixNano())
	}
	s.totals = &aiperfTotals{stored: stored, metrics: map[string]*spread{}, firstStart: math.Inf(1)}
	return stored.compareKept(run, []string{"request_count.avg", "error_request_count.avg"}, "request_throughput.avg", func() (int64, error) {
		return s.file.countText(`"request_start_ns"`)
	})
}

// aiperfServer stores the model and the address of the server in run, unless the records name
// them. Their places differ by release.
func (s *summary) aiperfServer(run *export.Run) {
	var models []string
	for _, place := range []string{"input_config.endpoint.model_names.%d", "input_config.models.items.%d.name"} {
		for i := 0; ; i++ {
			name, ok := s.texts[fmt.Sprintf(place, i)]
			if !ok {
				break
			}
			models = append(models, name)
		}
	}
	m := run.Meta
	m.Model = cmp.Or(m.Model, strings.Join(models, ", "))
	const endpoint = "input_config.endpoint."
	m.URL = cmp.Or(m.URL, withoutSecrets(s.texts[endpoint+"urls.0"]), withoutSecrets(s.texts[endpoint+"url"]))
	if streaming, ok := s.texts[endpoint+"streaming"]; ok && m.Streaming == nil {
		m.Streaming = boolean(streaming == "true")
	}
}

// aiperfLoad stores the load of the measured phase in run. If several phases are
// measured it stores none, because records do not name their phase.
func (s *summary) aiperfLoad(run *export.Run) {
	const loadgen = "input_config.loadgen." // before there were phases
	if rate, ok := s.figures[loadgen+"request_rate"]; ok {
		setLoad(run, export.ModeRequestRate, rate)
	} else if concurrency, ok := s.figures[loadgen+"concurrency"]; ok {
		setLoad(run, export.ModeConcurrency, concurrency)
	}
	found := -1
	for i := 0; ; i++ {
		kind, ok := s.texts[fmt.Sprintf("input_config.phases.%d.kind", i)]
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
	concurrency, closed := s.figures[phase+"concurrency"]
	rate, open := s.figures[phase+"rate"]
	switch typ := s.texts[phase+"type"]; {
	case typ == "concurrency" && closed:
		setLoad(run, export.ModeConcurrency, concurrency)
	case typ != "" && typ != "concurrency" && open:
		setLoad(run, export.ModeRequestRate, rate)
	}
}

// aiperfPhase returns when the phase began and ended, in UTC.
func (s *summary) aiperfPhase() (start, end time.Time, ok bool) {
	const layout = "2006-01-02T15:04:05"
	start, err1 := time.Parse(layout, s.texts["start_time"])
	end, err2 := time.Parse(layout, s.texts["end_time"])
	return start, end, err1 == nil && err2 == nil && start.UnixNano() > 0 && end.After(start)
}

// aiperfTotals are the values of the records that count, to be compared with the
// summary.
type aiperfTotals struct {
	stored     *summary
	ok, failed int
	metrics    map[string]*spread
	// As floats, which AIPerf subtracts: they have steps of 256 ns.
	firstStart, lastEnd float64
}

func (t *aiperfTotals) add(r *export.Request, metrics map[string]aiperfMetric) {
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
		if t.stored.texts[tag+".unit"] != m.Unit {
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
			t.metrics[tag] = &spread{}
		}
		t.metrics[tag].add(list...)
	}
}

// aiperfSums maps metrics of the run to the metric of the records that they add up.
var aiperfSums = map[string]string{
	"total_isl": "input_sequence_length", "total_osl": "output_sequence_length", "total_output_tokens": "output_token_count",
	"total_usage_prompt_tokens": "usage_prompt_tokens", "total_usage_completion_tokens": "usage_completion_tokens",
	"total_usage_total_tokens": "usage_total_tokens", "total_reasoning_tokens": "reasoning_token_count",
}

// compare computes the figures of the summary and compares them.
func (t *aiperfTotals) compare(c *selfCheck) {
	c.file, c.at = t.stored.file, ""
	computed := map[string]float64{
		"request_count.avg": float64(t.ok), "completed_request_count.avg": float64(t.ok + t.failed), "error_request_count.avg": float64(t.failed),
	}
	if t.stored.kept.partial() { // the other figures are of all requests
		t.stored.compare(c, computed)
		return
	}
	if n := t.ok + t.failed; n > 0 {
		computed["request_error_rate.avg"] = 100 * float64(t.failed) / float64(n)
	}
	for tag, m := range t.metrics {
		m.figures(computed, t.stored, tag)
	}
	for tag, of := range aiperfSums {
		if m := t.metrics[of]; m != nil {
			computed[tag+".avg"] = m.sum.Value()
		}
	}
	t.stored.compare(c, computed)
}

// compareRates compares the duration of the requests, and the rates over it.
func (t *aiperfTotals) compareRates(c *selfCheck) {
	const step = 512e-9 // two Unix times in ns as floats
	seconds := (t.lastEnd - t.firstStart) * 1e-9
	if t.stored.kept.partial() || t.ok == 0 || !(seconds > 0) {
		return
	}
	if stored, ok := t.stored.figures["benchmark_duration.avg"]; ok {
		c.within("benchmark_duration.avg", stored, seconds, tolerance+step/seconds)
	}
	phase := t.phase()
	rate := func(tag string, n float64) {
		stored, ok := t.stored.figures[tag+".avg"]
		if !ok {
			return
		}
		computed, uncertain := n/seconds, step/seconds
		if over := n / phase; math.Abs(stored-over) < math.Abs(stored-computed) {
			computed, uncertain = over, 1e-6/phase
		}
		c.within(tag+".avg", stored, computed, tolerance+uncertain)
	}
	rate("request_throughput", float64(t.ok))
	in, out := t.metrics["input_sequence_length"], t.metrics["output_sequence_length"]
	if in != nil {
		rate("input_token_throughput", in.sum.Value())
	}
	if out != nil {
		rate("output_token_throughput", out.sum.Value())
	}
	if in != nil && out != nil {
		rate("total_token_throughput", in.sum.Value()+out.sum.Value())
	}
}

// phase returns the duration of the run in seconds, NaN if the summary lacks it. Rates
// can be over this duration too. Its ends are whole microseconds.
func (t *aiperfTotals) phase() float64 {
	start, end, ok := t.stored.aiperfPhase()
	if !ok {
		return math.NaN()
	}
	return end.Sub(start).Seconds()
}
