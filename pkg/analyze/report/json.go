package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/export"
)

// Schema names the layout that JSON writes.
const Schema = "pa-report/1"

// JSON writes one object in the layout of schemas/report.schema.json. Times are
// nanoseconds; floats have all their digits. A metric or rate without a value is
// absent.
func JSON(in Input) Renderer { return sheet.JSON(document(in)) }

// JSONArray writes an array with an object as of [JSON] for each input, also for one input
// or none.
func JSONArray(inputs []Input) Renderer { return arrayOf(inputs, document) }

// arrayOf writes an array with the document of each input.
func arrayOf(inputs []Input, document func(Input) jsonReport) Renderer {
	all := make([]jsonReport, 0, len(inputs))
	for _, in := range inputs {
		all = append(all, document(in))
	}
	return sheet.JSON(all)
}

type jsonReport struct {
	Schema string `json:"schema"`
	// Conventions is where the names of metrics come from; only with the names of OpenTelemetry.
	Conventions string           `json:"conventions,omitempty"`
	Run         jsonRun          `json:"run"`
	Experiments []jsonExperiment `json:"experiments"`
	MaxLoad     *jsonMaxLoad     `json:"max_load,omitempty"`
	// Unavailable holds the reason why a metric or "throughput" has no value in the run.
	Unavailable map[string]string `json:"unavailable,omitempty"`
	Warnings    []string          `json:"warnings"`
	// WarningKinds has the kind of each of the Warnings.
	WarningKinds []analyze.WarningKind `json:"warning_kinds,omitempty"`
}

type jsonTokenizer struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

type jsonRun struct {
	File        string  `json:"file"`
	Tool        string  `json:"tool,omitempty"`
	Version     *string `json:"version,omitempty"`
	ServiceKind *string `json:"service_kind,omitempty"`
	Endpoint    *string `json:"endpoint,omitempty"`
	Model       string  `json:"model,omitempty"`
	// Label is the label of the server, if the run was recorded with others against
	// several servers.
	Label string `json:"label,omitempty"`
	// Tokenizer describes the tokenizer that counted texts.
	Tokenizer   *jsonTokenizer `json:"tokenizer,omitempty"`
	From        string         `json:"from"`
	Stamps      *jsonStamps    `json:"stamps,omitempty"`
	StartNS     uint64         `json:"start_ns,omitempty"`
	EndNS       uint64         `json:"end_ns,omitempty"`
	Interrupted string         `json:"interrupted,omitempty"`
	// Calibration is the calibration that the file holds.
	Calibration *export.Calibration `json:"calibration,omitempty"`
	// Shard and Merged have the layout of the file.
	Shard  *export.ShardMeta  `json:"shard,omitempty"`
	Merged *export.MergedMeta `json:"merged,omitempty"`
}

type jsonStamps struct {
	Kernel  int `json:"kernel"`
	User    int `json:"user"`
	Unknown int `json:"unknown"`
}

type jsonExperiment struct {
	Mode string `json:"mode"`
	Load string `json:"load,omitempty"`
	// Attributes hold for all metrics of the level; only with the names of OpenTelemetry.
	Attributes   map[string]string `json:"attributes,omitempty"`
	Value        jsonNumber        `json:"value"`
	Requests     jsonRequests      `json:"requests"`
	DurationNS   int64             `json:"duration_ns"`
	SentRate     *float64          `json:"sent_requests_per_s,omitempty"`
	TokenSource  string            `json:"token_source"`
	TokenEvents  int               `json:"token_events"`
	SharedStamps int               `json:"shared_stamps"`
	Selected     *Part             `json:"selected,omitempty"`
	Metrics      namedMetrics      `json:"metrics"`
	Throughput   jsonThroughput    `json:"throughput"`
	// Unavailable holds the reason why a metric or the rates of tokens have no value: the
	// answers were not streamed, or may not have been.
	Unavailable map[string]string `json:"unavailable,omitempty"`
	SLO         *jsonSLO          `json:"slo,omitempty"`
	Quality     *jsonQuality      `json:"quality,omitempty"`
	Economics   *jsonEconomics    `json:"economics,omitempty"`
	Prefix      *jsonPrefix       `json:"prefix,omitempty"`
	Phases      *jsonPhases       `json:"phases,omitempty"`
	Models      []jsonModel       `json:"models,omitempty"`
	Windows     []jsonWindow      `json:"windows,omitempty"`
	// Pauses has the layout of the file.
	Pauses         []export.Pause `json:"pauses,omitempty"`
	PausedRequests int            `json:"paused_requests,omitempty"`
	// Client has the layout of the file.
	Client   *export.ClientMeta `json:"client,omitempty"`
	Server   []jsonServer       `json:"server,omitempty"`
	Warnings []string           `json:"warnings"`
	// WarningKinds has the kind of each of the Warnings.
	WarningKinds []analyze.WarningKind `json:"warning_kinds,omitempty"`
}

type jsonRequests struct {
	OK               int            `json:"ok"`
	Failed           int            `json:"failed"`
	Excluded         int            `json:"excluded"`
	Unreadable       int            `json:"unreadable"`
	Resent           int            `json:"resent,omitempty"`
	FailedByClass    map[string]int `json:"failed_by_class,omitempty"`
	ExcludedByReason map[string]int `json:"excluded_by_reason,omitempty"`
}

type jsonThroughput struct {
	Requests            *float64 `json:"requests_per_s,omitempty"`
	OutputTokens        *float64 `json:"output_tokens_per_s,omitempty"`
	TotalTokens         *float64 `json:"total_tokens_per_s,omitempty"`
	OutputTokensPerUser *float64 `json:"output_tokens_per_s_per_user,omitempty"`
}

func document(in Input) jsonReport {
	rep := in.Report
	run := rep.Run
	d := jsonReport{
		Schema: Schema,
		Run: jsonRun{
			File: in.Name, Tool: tool(rep), Version: run.Version, ServiceKind: run.ServiceKind, Endpoint: run.Endpoint,
			Model: rep.Model, From: rep.From.String(), Tokenizer: (*jsonTokenizer)(rep.Tokenizer),
		},
		Experiments: []jsonExperiment{},
		Warnings:    texts(rep.Warnings), WarningKinds: kinds(rep.Warnings),
	}
	if s := rep.Stamps; s.Kernel+s.User > 0 {
		d.Run.Stamps = &jsonStamps{s.Kernel, s.User, s.Unknown}
	}
	if m := run.Meta; m != nil {
		d.Run.StartNS, d.Run.EndNS, d.Run.Interrupted, d.Run.Calibration = m.StartNS, m.EndNS, m.Interrupted, rep.Calibration()
		d.Run.Shard, d.Run.Merged = m.Shard, m.Merged
		if m.Repeat != nil {
			d.Run.Label = m.Repeat.Label
		}
	}
	for i := range rep.Experiments {
		d.Experiments = append(d.Experiments, experiment(&rep.Experiments[i], rep.SLOTarget))
	}
	d.MaxLoad = jsonLoad(rep.MaxLoad())
	d.Unavailable = whys(rep.Unavailable)
	return d
}

// whys returns the reasons by key; nil for none.
func whys(all []analyze.Unavailable) map[string]string {
	var m map[string]string
	for _, u := range all {
		if m == nil {
			m = map[string]string{}
		}
		m[u.Key] = u.Why
	}
	return m
}

func experiment(e *analyze.Experiment, target float64) jsonExperiment {
	return jsonExperiment{
		Mode: e.Mode, Load: e.Load, Value: jsonNumber(e.Value),
		Requests: jsonRequests{
			OK: e.OK, Failed: e.FailedRequests(), Excluded: e.ExcludedRequests(), Unreadable: e.Unreadable, Resent: e.Resent,
			FailedByClass: byName(e.Failed), ExcludedByReason: byName(e.Excluded),
		},
		DurationNS: e.DurationNS, SentRate: rate(e.Sent), TokenSource: e.TokenSource.String(),
		TokenEvents: e.TokenEvents, SharedStamps: e.SharedStamps,
		Selected: PartOf(e.Selected), Metrics: namedMetrics{all: e.Metrics}, Throughput: jsonRates(&e.Throughput), Unavailable: whys(e.Unavailable),
		SLO: jsonAttainment(e.SLO, target), Quality: jsonQualityOf(e.Quality), Economics: jsonEconomicsOf(e.Economics), Prefix: jsonPrefixOf(e.Prefix), Phases: jsonPhasesOf(e.Phases), Models: jsonModels(e.Models), Windows: jsonWindows(e.Windows),
		Pauses: e.Pauses, PausedRequests: e.Paused,
		Client:   e.Client,
		Server:   jsonServers(e.Server, asIs),
		Warnings: texts(e.Warnings), WarningKinds: kinds(e.Warnings),
	}
}

func jsonRates(t *analyze.Throughput) jsonThroughput {
	return jsonThroughput{rate(t.Requests), rate(t.OutputTokens), rate(t.TotalTokens), rate(t.OutputTokensPerUser)}
}

// namedMetrics are metrics in the order of the definitions: a JSON object by our keys, or an array
// with the names of OpenTelemetry.
type namedMetrics struct {
	all  []analyze.MetricSummary
	otel bool
}

// MarshalJSON writes the members of schemas/report.schema.json, or the members of
// schemas/report-otel.schema.json.
func (m namedMetrics) MarshalJSON() ([]byte, error) {
	if m.otel {
		return otelMetrics(m.all)
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for i, x := range m.all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(x.Definition.Key()) + ":{")
		statistics(&b, x.Summary, float)
		b.WriteByte('}')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// statistics writes the members of a summary; number formats its values.
func statistics(b *bytes.Buffer, s *analyze.Summary, number func(float64) string) {
	fmt.Fprintf(b, `"n":%d,"mean":%s,"std":%s,"min":%s`, s.N, number(s.Mean), number(s.Std), number(s.Min))
	for j, level := range analyze.Levels {
		fmt.Fprintf(b, `,"%s":%s`, PercentileName(level), number(s.Pct[j]))
	}
	fmt.Fprintf(b, `,"max":%s`, number(s.Max))
}

// PercentileName returns the name of a percentile: "p50", "p99.9".
func PercentileName(level float64) string { return "p" + strconv.FormatFloat(level, 'f', -1, 64) }

// float formats v without an exponent, with the fewest digits that read back as v.
func float(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// jsonNumber is the text of a load level. JSON has it as a number with the same digits, or
// as a string if a foreign tool wrote no number.
type jsonNumber string

// MarshalJSON writes the number text as it is.
func (n jsonNumber) MarshalJSON() ([]byte, error) {
	if b := []byte(n); json.Valid(b) && len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		return b, nil
	}
	return json.Marshal(string(n))
}

func rate(r analyze.Rate) *float64 {
	if !r.OK {
		return nil
	}
	return &r.PerSecond
}

func byName(c []analyze.Count) map[string]int {
	if len(c) == 0 {
		return nil
	}
	m := map[string]int{}
	for _, x := range c {
		m[x.Name] = x.N
	}
	return m
}

// texts returns the texts of warnings, never nil: a report without warnings has an empty
// list.
func texts(errs []error) []string {
	s := []string{}
	for _, err := range errs {
		s = append(s, err.Error())
	}
	return s
}

// kinds returns the kinds of warnings.
func kinds(errs []error) (all []analyze.WarningKind) {
	for _, err := range errs {
		all = append(all, analyze.AsWarning(err).Kind)
	}
	return all
}
