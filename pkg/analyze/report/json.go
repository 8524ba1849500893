package report

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
)

// Schema names the layout that JSON writes.
const Schema = "pa-report/1"

// JSON writes one object in the layout of schemas/report.schema.json. Times are
// nanoseconds; floats have all their digits. A metric or rate without a value is
// absent.
func JSON(in Input) Renderer { return sheet.JSON(jsonLayout{}.report(&in)) }

// JSONArray writes an array with an object as of [JSON] for each input, also for one input
// or none.
func JSONArray(inputs []Input) Renderer { return sheet.JSON(sheet.List(inputs, jsonLayout{}.report)) }

// A jsonLayout is a layout of JSON: ours, or with the names of OpenTelemetry.
type jsonLayout struct{ otel bool }

func (w jsonLayout) report(in *Input) sheet.Object {
	rep := in.Report
	schema, conventions := Schema, ""
	if w.otel {
		schema, conventions = OTelSchema, explain.OTelConventions
	}
	return sheet.Object{
		"schema", schema, "conventions", sheet.Opt(conventions), "run", w.run(in),
		"experiments", sheet.List(rep.Experiments, func(e *analyze.Experiment) sheet.Object { return w.experiment(rep, e) }),
		"max_load", MaxLoadJSON(rep.MaxLoad()), "unavailable", w.whys(rep.Unavailable), // why a metric or "throughput" has no value in the run
		"warnings", texts(rep.Warnings), "warning_kinds", sheet.Opt(kinds(rep.Warnings)),
	}
}

func (w jsonLayout) run(in *Input) sheet.Object {
	rep := in.Report
	run := rep.Run
	var tokenizer, stamps, recorded sheet.Object
	label := ""
	if t := rep.Tokenizer; t != nil {
		tokenizer = sheet.Object{"name", t.Name, "sha256", t.SHA256}
	}
	if s := rep.Stamps; s.Kernel+s.User > 0 {
		stamps = sheet.Object{"kernel", s.Kernel, "user", s.User, "unknown", s.Unknown}
	}
	if m := run.Meta; m != nil {
		recorded = sheet.Object{ // calibration, shard and merged have the layout of the file
			"start_ns", sheet.Opt(m.StartNS), "end_ns", sheet.Opt(m.EndNS), "interrupted", sheet.Opt(m.Interrupted),
			"calibration", sheet.Opt(rep.Calibration()), "shard", sheet.Opt(m.Shard), "merged", sheet.Opt(m.Merged),
		}
		if m.Repeat != nil {
			label = m.Repeat.Label
		}
	}
	return append(sheet.Object{
		"file", in.Name, "tool", sheet.Opt(Tool(rep)), "version", sheet.Opt(run.Version), "service_kind", sheet.Opt(run.ServiceKind), "endpoint", sheet.Opt(run.Endpoint),
		"model", sheet.Opt(rep.Model), "label", sheet.Opt(label), "tokenizer", tokenizer, "from", rep.From.String(), "stamps", stamps,
	}, recorded...)
}

// whys returns the reasons why figures are unavailable, by key; nil for none.
func (w jsonLayout) whys(all []figure.Unavailable) any {
	m := map[string]string{}
	for _, u := range all {
		key := u.Key
		if w.otel {
			key = explain.OTelName(key)
		}
		m[key] = u.Why
	}
	return sheet.Opt(m)
}

func (w jsonLayout) experiment(rep *analyze.Report, e *analyze.Experiment) sheet.Object {
	var attributes any
	if w.otel { // they hold for all metrics of the level
		attributes = sheet.Opt(OTelAttributes(rep))
	}
	return sheet.Object{
		"mode", e.Mode, "load", sheet.Opt(e.Load), "attributes", attributes, "value", jsonNumber(e.Value),
		"requests",
		sheet.Object{
			"ok", e.OK, "failed", e.FailedRequests(), "excluded", e.ExcludedRequests(), "unreadable", e.Unreadable, "resent", sheet.Opt(e.Resent),
			"failed_by_class", byName(e.Failed), "excluded_by_reason", byName(e.Excluded),
		},
		"duration_ns", e.DurationNS, "sent_requests_per_s", rate(e.Sent), "token_source", e.TokenSource.String(), "token_events", e.TokenEvents, "shared_stamps", e.SharedStamps,
		"selected", PartOf(e.Selected), "metrics", w.metrics(e.Metrics), "throughput", jsonRates(&e.Throughput), "unavailable", w.whys(e.Unavailable),
		"slo", jsonAttainment(e.SLO, rep.SLOTarget), "quality", w.quality(e.Quality), "economics", jsonEconomics(e.Economics), "prefix", jsonPrefix(e.Prefix), "phases", w.phases(e.Phases), "audio", w.audio(e.Audio),
		"sessions", jsonSessions(e.Sessions), "images", jsonImages(e.Images), "realtime", jsonRealtime(e.Realtime), "stated", jsonStated(e.Stated),
		"models", sheet.Opt(sheet.List(e.Models, func(m *analyze.ModelPart) sheet.Object {
			return sheet.Object{"model", m.Model, "ok", m.OK, "failed", m.Failed, "metrics", w.metrics(m.Metrics), "throughput", jsonRates(&m.Throughput)}
		})),
		"windows", sheet.Opt(sheet.List(e.Windows, func(x *analyze.Window) sheet.Object {
			return sheet.Object{
				"start_ns", x.FromNS, "end_ns", x.ToNS, "offset_ns", x.OffsetNS, "ok", x.OK, "failed", x.Failed,
				"metrics", w.metrics(x.Metrics), "throughput", jsonRates(&x.Throughput),
			}
		})),
		"pauses", sheet.Opt(e.Pauses), "paused_requests", sheet.Opt(e.Paused), "client", sheet.Opt(e.Client), // as in the file
		"server", sheet.Opt(sheet.List(e.Server, w.server)), "warnings", texts(e.Warnings), "warning_kinds", sheet.Opt(kinds(e.Warnings)),
	}
}

func jsonRates(t *figure.Throughput) sheet.Object {
	o := sheet.Object{}
	for _, x := range throughputs(t) {
		o = append(o, x.key, rate(x.rate))
	}
	return o
}

// metrics returns metrics in the order of the definitions: an object by our keys, or a list with the names of
// OpenTelemetry.
func (w jsonLayout) metrics(all []summary.Metric) any {
	if w.otel {
		return otelMetrics(all)
	}
	o := sheet.Object{}
	for _, x := range all {
		o = append(o, x.Definition.Key(), statistics(x.Summary, float))
	}
	return o
}

// statistics returns the members of a summary; format formats its values.
func statistics(s *summary.Summary, format func(float64) string) sheet.Object {
	number := func(v float64) json.Number { return json.Number(format(v)) }
	o := sheet.Object{"n", s.N, "mean", number(s.Mean), "std", number(s.Std), "min", number(s.Min)}
	for j, level := range summary.Levels {
		o = append(o, PercentileName(level), number(s.Pct[j]))
	}
	return append(o, "max", number(s.Max))
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

// rate returns a rate; nil if it is not known.
func rate(r figure.Rate) any {
	if !r.OK {
		return nil
	}
	return r.PerSecond
}

// byName returns counts by name; nil for none.
func byName(c []figure.Count) any {
	m := map[string]int{}
	for _, x := range c {
		m[x.Name] = x.N
	}
	return sheet.Opt(m)
}

// texts returns the texts of warnings.
func texts(errs []error) (all []string) {
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// kinds returns the kinds of warnings.
func kinds(errs []error) (all []analyze.WarningKind) {
	for _, err := range errs {
		all = append(all, analyze.AsWarning(err).Kind)
	}
	return all
}

// The parts of pa-report/1 that exist only on request.

// PartOf returns the selected part of a level in the layout of JSON, "selected" of the schemas; nil
// for nil.
func PartOf(s *analyze.Selected) sheet.Object {
	if s == nil {
		return nil
	}
	o := sheet.Object{"how", s.How, "start_ns", s.FromNS, "end_ns", s.ToNS, "level_start_ns", s.Level.FromNS, "level_end_ns", s.Level.ToNS}
	if x := s.Steady; x != nil {
		o = append(o, "steady", sheet.Object{"concurrency", x.Concurrency, "threshold", x.Threshold, "peak", x.Peak, "at_plateau", x.AtPlateau})
	}
	return o
}

// jsonAttainment returns how a level met an objective; target is 0 for a condition of it.
func jsonAttainment(x *figure.Attainment, target float64) sheet.Object {
	if x == nil {
		return nil
	}
	attained := math.NaN()
	if x.Share.OK {
		attained = x.Share.V
	}
	return sheet.Object{
		"expression", x.SLO.String(), "target", sheet.Opt(target), "attained", attained, "na", sheet.Opt(x.Share.NA), // why it is unknown
		"met", x.Met, "missed", x.Missed, "failed", x.Failed, "unknown", x.Unknown, "lacking", byName(x.Lacking),
		"goodput",
		sheet.Object{"requests_per_s", rate(x.Requests), "output_tokens_per_s", rate(x.OutputTokens)},
		"conditions", sheet.Opt(sheet.List(x.Conditions, func(c *figure.Attainment) sheet.Object { return jsonAttainment(c, 0) })),
	}
}

// MaxLoadJSON returns the estimate in the layout of JSON, "max_load" of the schemas; nil for nil.
func MaxLoadJSON(m *figure.MaxLoad) sheet.Object {
	if m == nil {
		return nil
	}
	at := func(l *figure.LoadLevel) sheet.Object {
		if l == nil {
			return nil
		}
		return sheet.Object{"load", l.Load, "attained", l.Share}
	}
	return sheet.Object{
		"mode", m.Mode, "target", m.Target, "estimate", m.Estimate, "low", m.Interval.Low, "high", m.Interval.High, "na", sheet.Opt(m.NA), // why a bound is missing
		"within", at(m.Within), "beyond", at(m.Beyond), "again", sheet.Opt(m.Again), "next", sheet.Opt(m.Next), "next_requests", sheet.Opt(m.NextRequests),
		"untold", sheet.Opt(m.Unknown),
	}
}
