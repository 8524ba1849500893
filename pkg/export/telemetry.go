package export

import "strings"

// A Scrape holds the samples that one source of telemetry gave at one time. A source
// is the metrics endpoint of a server or of a GPU exporter, or a tool such as
// nvidia-smi. The scrapes of all sources are the telemetry of a run. They hold the
// values as the source gave them; package analyze computes the growth of counters.
type Scrape struct {
	// Source is the URL of the endpoint, without credentials, or the name of the tool.
	// A [TelemetrySource] in the run's metadata has the same Source.
	Source string
	// StartNS is the time of the request for the scrape and EndNS the time at which
	// all of it had arrived, on the clock of the run. The source took the values at
	// some instant between them.
	StartNS, EndNS uint64
	// Samples are in the order of the source; nil when it gave none.
	Samples []Sample
	// LeftOut counts further samples, which were not kept because of the bounds of a
	// source.
	LeftOut int
	// Error says why the scrape failed; "" if it did not. A failed scrape has no
	// samples.
	Error string
}

// ProcessStartMetric is the name of the gauge that holds the start time of a source's
// process, in Unix seconds.
const ProcessStartMetric = "process_start_time_seconds"

// A Sample is the value of a series in a [Scrape]. It may be NaN or infinite.
type Sample struct {
	// Series is the same pointer whenever one reader or recorder gives the same
	// series.
	Series *Series
	Value  float64
}

// A Series is a quantity of one source over time.
type Series struct {
	Source string
	// Name is the source's name of the series: "nv_gpu_utilization",
	// "vllm:time_to_first_token_seconds_bucket".
	Name string
	// Type is the type that the source states: "counter", "gauge", "histogram",
	// "summary" or "untyped"; "" if it states none. The series _bucket, _sum and
	// _count have the type of their histogram or summary.
	Type string
	// Labels tell series of one name apart, in the order of the source.
	Labels []Label
}

// A Label is a name with a value that a [Series] has.
type Label struct{ Name, Value string }

// Label returns the value of the label of that name, "" when there is none.
func (s *Series) Label(name string) string {
	for i := range s.Labels {
		if s.Labels[i].Name == name {
			return s.Labels[i].Value
		}
	}
	return ""
}

// String returns name{label="value",…}, as Prometheus writes it.
func (s *Series) String() string {
	if len(s.Labels) == 0 {
		return s.Name
	}
	var b strings.Builder
	b.WriteString(s.Name)
	separator := byte('{')
	for _, l := range s.Labels {
		b.WriteByte(separator)
		separator = ','
		b.WriteString(l.Name)
		b.WriteString(`="`)
		b.WriteString(labelEscaper.Replace(l.Value))
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// Kinds of [TelemetrySource].
const (
	TelemetryPrometheus = "prometheus" // the text format of Prometheus, over HTTP
	TelemetryNvidiaSMI  = "nvidia-smi" // rows of nvidia-smi --query-gpu
)

// TelemetrySource describes one source of scrapes, with counts of the kept and lost ones.
// It is stored as JSON in the metadata of the run.
type TelemetrySource struct {
	// Source is the Source of its [Scrape] values, without credentials.
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Host is where the source runs, as in its URL; the recorder's own for a tool.
	Host       string `json:"host,omitempty"`
	IntervalNS int64  `json:"interval_ns,omitempty"`
	// Scrapes counts the scrapes that were kept, and Failed the failed ones among
	// them. Dropped counts scrapes that the recorder had no room for.
	Scrapes int `json:"scrapes"`
	Failed  int `json:"failed,omitempty"`
	Dropped int `json:"dropped,omitempty"`
	// Series counts the series that were kept. LeftOut counts the samples of series
	// that were not kept because of the bounds of a source, and Emptied the scrapes
	// that have no sample for that reason.
	Series  int `json:"series"`
	LeftOut int `json:"left_out,omitempty"`
	Emptied int `json:"emptied,omitempty"`
	// Repeated counts samples of a series that had one in the same scrape
	// already: the first is kept.
	Repeated int `json:"repeated,omitempty"`
	// Gone counts the series that were absent from the last answer of the source,
	// because its label sets change.
	Gone int `json:"gone,omitempty"`
	// BadLines counts the lines of its answers that make no sense; FirstBadLine
	// is the number, from 1, of the first one in its answer.
	BadLines     int `json:"bad_lines,omitempty"`
	FirstBadLine int `json:"first_bad_line,omitempty"`
	// Error is the first reason why a scrape failed.
	Error string `json:"error,omitempty"`
}
