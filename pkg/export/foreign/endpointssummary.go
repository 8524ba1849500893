package foreign

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// mlcommons/endpoints writes its statistics to performance/result_summary.json, and its settings
// to config.yaml beside events.jsonl:
//
//	{"version":V,"n_samples_issued":N,"n_samples_completed":N,"n_samples_failed":N,"duration_ns":T,
//	 "ttft":{"total":T,"min":T,…,"percentiles":{"99.9":T,…},"early_stopping_percentiles":{…},…},
//	 "latency":{…},"qps":R,"finish_reason_counts":{…},"run_config":{"load_pattern":{…},…},…}
//
// Its figures count the samples that were issued while performance was tracked, failed ones
// too. report.txt prints the same figures.

const (
	endpointsSummary  = "performance/result_summary.json"
	endpointsSettings = "config.yaml"
)

var _ summarized = (*endpoints)(nil)

func (s *endpoints) summaryNames(file string) []string {
	if file == endpointsEvents {
		return []string{endpointsSummary, endpointsSettings}
	}
	return nil
}

func (s *endpoints) useSummary(run *export.Run, name string, content []byte) error {
	if named(name, endpointsSettings) {
		return endpointsUseSettings(run, name, content)
	}
	stored, err := parseSummary(name, content)
	if err != nil {
		return err
	}
	if _, ok := stored.figures["n_samples_issued"]; !ok {
		return errors.New("is not a summary of mlcommons/endpoints: it has no n_samples_issued")
	}
	if v := stored.texts["version"]; v != "" && !strings.Contains(run.Meta.Tool, " ") {
		run.Meta.Tool += " " + v
	}
	const pattern = "run_config.load_pattern."
	endpointsLoad(run, stored.texts[pattern+"type"], stored.figures[pattern+"target_concurrency"], stored.figures[pattern+"target_qps"])
	s.totals = &endpointsTotals{stored: stored, reasons: map[string]int{}}
	return stored.compareKept(run, []string{"n_samples_completed"}, "qps", func() (int64, error) { return s.file.countText(`"sample.complete"`) })
}

// endpointsLoad stores the load of a pattern in run. It stores none for the patterns without a
// target: max_throughput sends all requests at once.
func endpointsLoad(run *export.Run, pattern string, concurrency, rate float64) {
	switch pattern {
	case "concurrency", "agentic_inference":
		setLoad(run, export.ModeConcurrency, concurrency)
	case "poisson":
		setLoad(run, export.ModeRequestRate, rate)
	}
}

// endpointsUseSettings stores the load, the model and the service in run.
func endpointsUseSettings(run *export.Run, name string, content []byte) error {
	var x struct {
		Model struct {
			Name      string `yaml:"name"`
			Streaming string `yaml:"streaming"`
		} `yaml:"model_params"`
		Settings struct {
			Load *struct {
				Type        string  `yaml:"type"`
				Concurrency float64 `yaml:"target_concurrency"`
				Rate        float64 `yaml:"target_qps"`
			} `yaml:"load_pattern"`
		} `yaml:"settings"`
		Endpoint struct {
			URLs []string `yaml:"endpoints"`
			API  string   `yaml:"api_type"`
		} `yaml:"endpoint_config"`
	}
	if err := yaml.Unmarshal(content, &x); err != nil {
		return fmt.Errorf("%s: is not the YAML of mlcommons/endpoints' settings: %w", name, err)
	}
	l := x.Settings.Load
	if l == nil {
		return errors.New("has no settings.load_pattern, as the settings of mlcommons/endpoints have")
	}
	endpointsLoad(run, l.Type, l.Concurrency, l.Rate)
	if run.Meta.Model == "" {
		run.Meta.Model = x.Model.Name
	}
	switch x.Model.Streaming {
	case "on":
		run.Meta.Streaming = boolean(true)
	case "off":
		run.Meta.Streaming = boolean(false)
	}
	if len(x.Endpoint.URLs) > 0 && run.Meta.URL == "" {
		run.Meta.URL = withoutSecrets(x.Endpoint.URLs[0])
	}
	switch x.Endpoint.API {
	case "openai":
		run.ServiceKind, run.Endpoint = text("openai"), text("v1/chat/completions")
	case "openai_completions":
		run.ServiceKind, run.Endpoint = text("openai"), text("v1/completions")
	}
	return nil
}

// endpointsTotals are the values of the samples that the tool's figures count. Its methods do
// nothing if it is nil: without a summary.
type endpointsTotals struct {
	stored                    *summary
	issued, completed, failed int
	ttft, latency             spread
	blocks                    []endpointsBlock
	firstIssued               uint64
	lastIssued                uint64 // of the completed samples
	lastEnd                   uint64 // of that sample
	reasons                   map[string]int
}

// endpointsReasons are the finish reasons that the summary counts by their names. It counts the
// others together, as otherReason.
var endpointsReasons = []string{"stop", "length", "tool_calls", "content_filter", "function_call"}

const otherReason = "other"

// An endpointsBlock is a time of performance tracking, up to the last end of a sample that was
// issued in it.
type endpointsBlock struct{ startNS, endNS uint64 }

func (t *endpointsTotals) begin(ns uint64) {
	if t != nil {
		t.blocks = append(t.blocks, endpointsBlock{ns, ns})
	}
}

// block returns the number of the block that samples issued now belong to; −1 for none.
func (t *endpointsTotals) block() int {
	if t == nil {
		return -1
	}
	return len(t.blocks) - 1
}

func (t *endpointsTotals) issue(q *endpointsSample) {
	if t == nil || !q.tracked {
		return
	}
	if t.issued == 0 {
		t.firstIssued = q.issuedNS
	}
	t.issued++
}

func (t *endpointsTotals) first(q *endpointsSample, ns uint64) {
	if t != nil && q.tracked {
		t.ttft.add(float64(int64(ns - q.issuedNS)))
	}
}

func (t *endpointsTotals) fail(q *endpointsSample) {
	if t != nil && q.tracked {
		t.failed++
	}
}

func (t *endpointsTotals) complete(q *endpointsSample, ns uint64, reason *string) {
	if t == nil || !q.tracked {
		return
	}
	if t.completed == 0 || q.issuedNS > t.lastIssued {
		t.lastIssued, t.lastEnd = q.issuedNS, ns
	}
	t.completed++
	t.latency.add(float64(int64(ns - q.issuedNS)))
	if q.block >= 0 {
		b := &t.blocks[q.block]
		b.endNS = max(b.endNS, ns)
	}
	if reason == nil {
		return
	}
	if slices.Contains(endpointsReasons, *reason) {
		t.reasons[*reason]++
	} else {
		t.reasons[otherReason]++
	}
}

// check compares the figures of the summary. The file itself states none.
func (s *endpoints) check(c *selfCheck) {
	if s.totals != nil {
		s.totals.compare(c)
		s.totals.stored.rest(c)
	}
}

func (t *endpointsTotals) compare(c *selfCheck) {
	c.file = t.stored.file
	computed := map[string]float64{
		"n_samples_issued": float64(t.issued), "n_samples_completed": float64(t.completed), "n_samples_failed": float64(t.failed),
	}
	if t.stored.kept.partial() { // the other figures are of all samples
		t.stored.compare(c, computed)
		return
	}
	for _, reason := range append(slices.Clip(endpointsReasons), otherReason) {
		computed["finish_reason_counts."+reason] = float64(t.reasons[reason])
	}
	duration := 0.0
	for _, b := range t.blocks {
		duration += float64(b.endNS - b.startNS)
	}
	computed["duration_ns"] = duration
	n := float64(t.completed)
	if _, legacy := t.stored.figures["legacy_loadgen_window_duration_ns"]; legacy {
		// LoadGen's window: from the first request to the end of the request that was sent last.
		duration = float64(t.lastEnd - t.firstIssued)
		computed["legacy_loadgen_window_duration_ns"] = duration
		n--
	}
	if duration > 0 {
		computed["qps"] = n / (duration / 1e9)
	}
	t.ttft.endpointsFigures(computed, t.stored, "ttft")
	t.latency.endpointsFigures(computed, t.stored, "latency")
	t.stored.compare(c, computed)
}

// endpointsFigures computes the statistics of the metric that the summary in has, into
// computed. A percentile is the value at the index that numpy's method "lower" gives.
func (s *spread) endpointsFigures(computed map[string]float64, in *summary, metric string) {
	if s.n == 0 {
		return
	}
	s.figures(computed, in, metric)
	var sorted sample
	if s.n == len(s.values) {
		sorted = s.values.sorted()
	}
	lower := func(pct float64) float64 { return sorted[int(pct/100*float64(len(sorted)-1))] }
	for name := range in.figures {
		figure, ok := strings.CutPrefix(name, metric+".")
		if !ok || sorted == nil {
			continue
		}
		if pct, ok := percentileName(figure, "percentiles."); ok {
			computed[name] = lower(pct)
		}
		if pct, ok := percentileName(figure, "early_stopping_percentiles."); ok {
			if v, ok := stat.Certified(sorted, pct/100); ok {
				computed[name] = v
			}
		}
	}
	if sorted == nil {
		delete(computed, metric+".median")
		delete(computed, metric+".std_dev")
		return
	}
	computed[metric+".median"] = lower(50)
	computed[metric+".std_dev"] = 0
	if s.n > 1 {
		computed[metric+".std_dev"] = sorted.std() * math.Sqrt(float64(s.n)/float64(s.n-1))
	}
}

// percentileName returns the percentile that a name such as "percentiles.99.9" ends with.
func percentileName(name, prefix string) (pct float64, ok bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	pct, err := strconv.ParseFloat(rest, 64)
	return pct, err == nil && pct >= 0 && pct <= 100
}
