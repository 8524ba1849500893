package infperf

import (
	"context"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// family is the name of the tool.
const family = "inference-perf"

// omits lists the parts of a run that the file of requests does not hold.
const omits = "the level and the session of a request, when it was due and issued, chunks without text of the first choice but in the body, warmup, telemetry, and where a time was taken"

// A release holds the facts of one release of inference-perf: names, their order, and limits.
type release struct {
	version string

	// requests, summary and stage name the files; stage is a format of the level's index.
	requests, summary, stage string

	// The metrics of the requests that succeeded, in the order of the summary.
	latencies   []latencyMetric
	throughputs []throughputMetric
	media       []medium
	// percentiles lists the percentiles; 50 is called median.
	percentiles []float64

	// statusLabels names failures by their HTTP status. Other failures get their names by
	// what their messages match: HTTP failures in httpLabels, the others in otherLabels.
	statusLabels            map[string]string
	httpLabels, otherLabels []labelRule
	// maxMessages bounds the different messages of one kind of failure.
	maxMessages int
}

// A latencyMetric is a distribution of latencies.
type latencyMetric struct {
	name   string
	values func(*sums) []float64
}

// A throughputMetric is an amount per second of the whole time.
type throughputMetric struct {
	name   string
	amount func(*sums) float64
}

// A medium is a kind of content with its properties. No request of an export has one.
type medium struct {
	name       string
	properties []string
}

// A labelRule names the failures whose messages match.
type labelRule struct {
	pattern *regexp.Regexp
	label   string
}

// releases holds the known releases, oldest first. The tool "inference-perf" is the last one.
var releases = []*release{{
	version:  "0.7.0",
	requests: "per_request_lifecycle_metrics.json",
	summary:  "summary_lifecycle_metrics.json",
	stage:    "stage_%d_lifecycle_metrics.json",
	latencies: []latencyMetric{
		{"request_latency", func(s *sums) []float64 { return s.latency }},
		{"normalized_time_per_output_token", func(s *sums) []float64 { return s.perToken }},
		{"time_per_output_token", func(s *sums) []float64 { return s.tpot }},
		{"time_to_first_token", func(s *sums) []float64 { return s.ttft }},
		{"inter_token_latency", func(s *sums) []float64 { return s.gaps }},
	},
	throughputs: []throughputMetric{
		{"input_tokens_per_sec", func(s *sums) float64 { return sum(s.prompts) }},
		{"output_tokens_per_sec", func(s *sums) float64 { return sum(s.lengths) }},
		{"total_tokens_per_sec", func(s *sums) float64 { return sum(s.prompts) + sum(s.lengths) }},
		{"requests_per_sec", func(s *sums) float64 { return float64(len(s.latency)) }},
		{"images_per_sec", none},
		{"videos_per_sec", none},
		{"audios_per_sec", none},
	},
	media: []medium{
		{"image", []string{"pixels", "bytes", "aspect_ratio"}},
		{"video", []string{"frames", "pixels", "bytes", "aspect_ratio"}},
		{"audio", []string{"seconds", "bytes"}},
	},
	percentiles: []float64{0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}, // of the default configuration
	statusLabels: map[string]string{
		"429": "Rate Limit", "500": "Internal Server Error", "502": "Bad Gateway", "503": "Service Unavailable", "504": "Gateway Timeout",
	},
	httpLabels: []labelRule{
		{regexp.MustCompile(`(?i)context.window|context length|maximum context|max.?tokens|token.?limit`), "Context Window"},
		{regexp.MustCompile(`(?i)invalid.?json|json.?parse|malformed.?json|unexpected.?token|expecting value|unterminated string|expecting ',' delimiter`), "Invalid JSON"},
		{timeout, "Timeout"},
		{regexp.MustCompile(`(?i)model.?not.?found|no such model`), "Model Not Found"},
	},
	otherLabels: []labelRule{
		{timeout, "Timeout"},
		{regexp.MustCompile(`(?i)connection.?refused|connect`), "Connection Error"},
	},
	maxMessages: 100, // report.request_lifecycle.max_error_messages
}}

var timeout = regexp.MustCompile(`(?i)timeout|timed.?out`)

func none(*sums) float64 { return 0 }

// Tools returns the known releases as tools that print no report.
func Tools() []*dialect.Tool {
	var all []*dialect.Tool
	for i, r := range releases {
		name := dialect.ReleaseName(family, r.version, i, len(releases))
		all = append(all, &dialect.Tool{
			Name: name, Family: family, Options: dialect.LanguageOptions(), Transformers: 5,
			Result: &dialect.ResultFile{Omits: omits, Listed: name, Ending: ".json", Companions: r.companions, Write: r.writeResult},
		})
	}
	return all
}

// companions returns the paths of the summaries: of the run, and of each level.
func (r *release) companions(out string, run *export.Run) []string {
	paths := []string{r.besidePath(out, r.summary)}
	for i := range run.Experiments {
		paths = append(paths, r.besidePath(out, r.stageName(i)))
	}
	return paths
}

// besidePath returns the path of a summary beside the file of requests, with the same
// prefix (storage.local_storage.report_file_prefix).
func (r *release) besidePath(out, name string) string {
	prefix, ok := strings.CutSuffix(filepath.Base(out), r.requests)
	if !ok {
		prefix = strings.TrimSuffix(filepath.Base(out), ".json") + "_"
	}
	return filepath.Join(filepath.Dir(out), prefix+name)
}

func (r *release) writeResult(ctx context.Context, in export.Reader, cfg dialect.Config, path string, out io.Writer) (*dialect.Written, error) {
	if len(cfg.Args) > 0 {
		return nil, &dialect.ArgError{Msg: "a result of inference-perf depends on no argument; drop it"}
	}
	w := newWriter(r, in.Run(), cfg, out)
	if err := w.writeAll(ctx, in); err != nil {
		return nil, err
	}
	written := &dialect.Written{Warnings: w.warnings()}
	for _, s := range w.summaries() {
		written.Companions = append(written.Companions, dialect.Companion{Path: r.besidePath(path, s.name), Write: s.write})
	}
	return written, nil
}
