package export

import "strings"

// A Scrape is what one source of telemetry said at one time: the metrics
// endpoint of a server or of a GPU exporter, or a tool such as nvidia-smi. The
// scrapes of all sources are the telemetry of a run, in which no value is
// changed: counters are as they were, what they grew by is a question for
// package analyze.
type Scrape struct {
	// Source names where it comes from, without credentials: a URL, or the name
	// of a tool. It is that of a [TelemetrySource] of the run's metadata.
	Source string
	// StartNS and EndNS are when it was asked for and when all of it was there,
	// on the clock of the run. The values are of some instant between.
	StartNS, EndNS uint64
	// Samples are in the order of the source; nil when it gave none.
	Samples []Sample
	// LeftOut counts the samples that it had besides, of which nothing was kept
	// because of the bounds of a source.
	LeftOut int
	// Error is why it failed; "" when it did not. What came before the failure
	// is not kept.
	Error string
}

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
	// Name is that of the source: "nv_gpu_utilization",
	// "vllm:time_to_first_token_seconds_bucket".
	Name string
	// Type is what the source calls it: "counter", "gauge", "histogram",
	// "summary" (also for the _bucket, _sum and _count of those), "untyped"; ""
	// when it does not say.
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

// TelemetrySource is what became of one source of scrapes. It is stored as JSON
// in the metadata of the run.
type TelemetrySource struct {
	// Source is that of its [Scrape] values: without credentials.
	Source string `json:"source"`
	Kind   string `json:"kind"`
	// Host is where the source runs, as in its URL; the recorder's own for a tool.
	Host       string `json:"host,omitempty"`
	IntervalNS int64  `json:"interval_ns,omitempty"`
	// Scrapes were kept, Failed among them; Dropped were not, because the
	// recorder had no room for them.
	Scrapes int `json:"scrapes"`
	Failed  int `json:"failed,omitempty"`
	Dropped int `json:"dropped,omitempty"`
	// Series were kept; LeftOut counts the samples of the scrapes whose series
	// were not, because they are beyond the bounds of a source. Emptied of the
	// scrapes have no sample for that reason.
	Series  int `json:"series"`
	LeftOut int `json:"left_out,omitempty"`
	Emptied int `json:"emptied,omitempty"`
	// Repeated counts samples of a series that had one in the same scrape
	// already: the first is kept.
	Repeated int `json:"repeated,omitempty"`
	// Gone are the series that the source had ceased to give when it last
	// answered: its label sets change.
	Gone int `json:"gone,omitempty"`
	// BadLines counts the lines of its answers that make no sense; FirstBadLine
	// is the number, from 1, of the first one in its answer.
	BadLines     int `json:"bad_lines,omitempty"`
	FirstBadLine int `json:"first_bad_line,omitempty"`
	// Error is the first reason why a scrape failed.
	Error string `json:"error,omitempty"`
}
