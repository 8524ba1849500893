package endpoints

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
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
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
	summaryName  = "performance/result_summary.json"
	settingsName = "config.yaml"
)

var _ resultfile.Summarized = (*source)(nil)

func (s *source) SummaryNames(file string) []string {
	if file == eventsName {
		return []string{summaryName, settingsName}
	}
	return nil
}

// UseSummary implements resultfile.Summarized.
func (s *source) UseSummary(run *export.Run, name string, content []byte) error {
	if resultfile.Named(name, settingsName) {
		return useSettings(run, name, content)
	}
	stored, err := resultfile.ParseSummary(name, content)
	if err != nil {
		return err
	}
	if _, ok := stored.Figures["n_samples_issued"]; !ok {
		return errors.New("is not a summary of mlcommons/endpoints: it has no n_samples_issued")
	}
	if v := stored.Texts["version"]; v != "" && !strings.Contains(run.Meta.Tool, " ") {
		run.Meta.Tool += " " + v
	}
	const pattern = "run_config.load_pattern."
	setLoad(run, stored.Texts[pattern+"type"], stored.Figures[pattern+"target_concurrency"], stored.Figures[pattern+"target_qps"])
	s.totals = &totals{stored: stored, reasons: map[string]int{}}
	return stored.CompareKept(run, []string{"n_samples_completed"}, "qps", func() (int64, error) { return s.file.CountText(`"sample.complete"`) })
}

// setLoad stores the load of a pattern in run. It stores none for the patterns without a
// target: max_throughput sends all requests at once.
func setLoad(run *export.Run, pattern string, concurrency, rate float64) {
	switch pattern {
	case "concurrency", "agentic_inference":
		resultfile.SetLoad(run, export.ModeConcurrency, concurrency)
	case "poisson":
		resultfile.SetLoad(run, export.ModeRequestRate, rate)
	}
}

// useSettings stores the load, the model and the service in run.
func useSettings(run *export.Run, name string, content []byte) error {
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
	setLoad(run, l.Type, l.Concurrency, l.Rate)
	if run.Meta.Model == "" {
		run.Meta.Model = x.Model.Name
	}
	switch x.Model.Streaming {
	case "on":
		run.Meta.Streaming = new(true)
	case "off":
		run.Meta.Streaming = new(false)
	}
	if len(x.Endpoint.URLs) > 0 && run.Meta.URL == "" {
		run.Meta.URL = resultfile.WithoutSecrets(x.Endpoint.URLs[0])
	}
	switch x.Endpoint.API {
	case "openai":
		run.ServiceKind, run.Endpoint = new("openai"), new("v1/chat/completions")
	case "openai_completions":
		run.ServiceKind, run.Endpoint = new("openai"), new("v1/completions")
	}
	return nil
}

// totals are the values of the samples that the tool's figures count. Its methods do
// nothing if it is nil: without a summary.
type totals struct {
	stored                    *resultfile.Summary
	issued, completed, failed int
	ttft, latency             resultfile.Spread
	blocks                    []block
	firstIssued               uint64
	lastIssued                uint64 // of the completed samples
	lastEnd                   uint64 // of that sample
	reasons                   map[string]int
}

// reasonNames are the finish reasons that the summary counts by their names. It counts the
// others together, as otherReason.
var reasonNames = []string{"stop", "length", "tool_calls", "content_filter", "function_call"}

const otherReason = "other"

// A block is a time of performance tracking, up to the last end of a sample that was
// issued in it.
type block struct{ startNS, endNS uint64 }

func (t *totals) begin(ns uint64) {
	if t != nil {
		t.blocks = append(t.blocks, block{ns, ns})
	}
}

// block returns the number of the block that samples issued now belong to; −1 for none.
func (t *totals) block() int {
	if t == nil {
		return -1
	}
	return len(t.blocks) - 1
}

func (t *totals) issue(q *sample) {
	if t == nil || !q.tracked {
		return
	}
	if t.issued == 0 {
		t.firstIssued = q.issuedNS
	}
	t.issued++
}

func (t *totals) first(q *sample, ns uint64) {
	if t != nil && q.tracked {
		t.ttft.Add(float64(int64(ns - q.issuedNS)))
	}
}

func (t *totals) fail(q *sample) {
	if t != nil && q.tracked {
		t.failed++
	}
}

// complete counts a sample that ended at ns; reason is not nil if it failed.
func (t *totals) complete(q *sample, ns uint64, reason *string) {
	if t == nil || !q.tracked {
		return
	}
	if t.completed == 0 || q.issuedNS > t.lastIssued {
		t.lastIssued, t.lastEnd = q.issuedNS, ns
	}
	t.completed++
	t.latency.Add(float64(int64(ns - q.issuedNS)))
	if q.block >= 0 {
		b := &t.blocks[q.block]
		b.endNS = max(b.endNS, ns)
	}
	if reason == nil {
		return
	}
	if slices.Contains(reasonNames, *reason) {
		t.reasons[*reason]++
	} else {
		t.reasons[otherReason]++
	}
}

// Check compares the figures of the summary. The file itself states none.
func (s *source) Check(c *resultfile.SelfCheck) {
	if s.totals != nil {
		s.totals.compare(c)
		s.totals.stored.Rest(c)
	}
}

// compare compares the stored figures with the totals.
func (t *totals) compare(c *resultfile.SelfCheck) {
	c.File = t.stored.File
	computed := map[string]float64{
		"n_samples_issued": float64(t.issued), "n_samples_completed": float64(t.completed), "n_samples_failed": float64(t.failed),
	}
	if t.stored.Kept.Partial() { // the other figures are of all samples
		t.stored.Compare(c, computed)
		return
	}
	for _, reason := range append(slices.Clip(reasonNames), otherReason) {
		computed["finish_reason_counts."+reason] = float64(t.reasons[reason])
	}
	duration := 0.0
	for _, b := range t.blocks {
		duration += float64(b.endNS - b.startNS)
	}
	computed["duration_ns"] = duration
	n := float64(t.completed)
	if _, legacy := t.stored.Figures["legacy_loadgen_window_duration_ns"]; legacy {
		// LoadGen's window: from the first request to the end of the request that was sent last.
		duration = float64(t.lastEnd - t.firstIssued)
		computed["legacy_loadgen_window_duration_ns"] = duration
		n--
	}
	if duration > 0 {
		computed["qps"] = n / (duration / 1e9)
	}
	t.ttft.Figures(computed, t.stored, "ttft", statistic)
	t.latency.Figures(computed, t.stored, "latency", statistic)
	t.stored.Compare(c, computed)
}

// statistic returns a statistic that needs the sorted values, by its name; NaN for none. A percentile is the value at the
// index that numpy's method "lower" gives.
func statistic(sorted resultfile.Sample, name string) float64 {
	lower := func(pct float64) float64 { return sorted[int(pct/100*float64(len(sorted)-1))] }
	switch n := len(sorted); {
	case name == "median":
		return lower(50)
	case name == "std_dev" && n == 1:
		return 0
	case name == "std_dev":
		return stat.NumpyStd(stat.NumpyCurrent, sorted) * math.Sqrt(float64(n)/float64(n-1))
	}
	if pct, ok := percentileName(name, "percentiles."); ok {
		return lower(pct)
	}
	if pct, ok := percentileName(name, "early_stopping_percentiles."); ok {
		if v, ok := stat.Certified(sorted, pct/100); ok {
			return v
		}
	}
	return math.NaN()
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
