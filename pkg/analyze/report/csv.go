package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
)

// CSV writes one line per metric of each experiment of each input, with all percentiles.
// The counts, throughputs and results of the objective follow; their values are in the
// columns "n" or "mean". Then come the same lines of each model if there are several, and
// of each window. schemas/report_csv.md names the columns and lines. Times are
// nanoseconds, rates are per second, and floats have all their digits.
func CSV(inputs []Input) Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w) // it keeps its first error
		header := []string{"file", "experiment", "mode", "value", "metric", "unit", "n", "mean", "std", "min"}
		for _, level := range summary.Levels {
			header = append(header, PercentileName(level))
		}
		_ = c.Write(append(header, "max", "window", "from_ns", "to_ns", "model"))
		for i := range inputs {
			csvInput(&inputs[i], func(row []string) { _ = c.Write(sanitize.CSVRow(row)) })
		}
		c.Flush()
		return c.Error()
	}
}

// csvInput writes the rows of an input.
func csvInput(in *Input, write func(row []string)) {
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		lines := func(all []csvLine, place [4]string) {
			for j := range all {
				write(all[j].row([]string{in.Name, strconv.Itoa(i), e.Mode, e.Value}, place))
			}
		}
		var place [4]string // window, from, to, model
		if s := e.Selected; s != nil {
			place[1], place[2] = since(s.FromNS, s.Level), since(s.ToNS, s.Level)
		}
		lines(csvLevel(e), place)
		for j := range e.Models {
			m := &e.Models[j]
			lines(csvPart(m.Metrics, m.OK, m.Failed, &m.Throughput), [4]string{"", place[1], place[2], m.Model})
		}
		for j := range e.Windows {
			w := &e.Windows[j]
			lines(csvPart(w.Metrics, w.OK, w.Failed, &w.Throughput),
				[4]string{strconv.Itoa(j), strconv.FormatInt(w.OffsetNS, 10), strconv.FormatInt(w.OffsetNS+int64(w.Duration()), 10), ""})
		}
	}
	if m := in.Report.MaxLoad(); m != nil {
		for _, l := range csvMaxLoad(m) {
			write(l.row([]string{in.Name, "", m.Mode, ""}, [4]string{}))
		}
	}
}

// A csvLine holds the cells of a metric, or of a figure, which has its value in the column "mean".
type csvLine struct {
	name, unit, n, mean, std, min string
	pct                           []string
	max                           string
}

// row returns the cells of the line between others.
func (l *csvLine) row(first []string, place [4]string) []string {
	row := slices.Concat(first, []string{l.name, l.unit, l.n, l.mean, l.std, l.min})
	row = append(row, l.pct...)
	for range len(summary.Levels) - len(l.pct) {
		row = append(row, "")
	}
	return append(append(row, l.max), place[:]...)
}

// since returns the time from the start of the level to an instant.
func since(ns uint64, level figure.Span) string {
	return strconv.FormatInt(int64(ns-level.FromNS), 10)
}

// csvLevel returns the lines of a level.
func csvLevel(e *analyze.Experiment) []csvLine {
	lines := csvMetrics(e.Metrics)
	for _, c := range []struct {
		name string
		n    int
		rare bool
	}{
		{"requests_ok", e.OK, false},
		{"requests_failed", e.FailedRequests(), false},
		{"requests_excluded", e.ExcludedRequests(), false},
		{"requests_unreadable", e.Unreadable, false},
		{"requests_resent", e.Resent, true},
		{"requests_paused", e.Paused, true},
	} {
		if c.n > 0 || !c.rare {
			lines = append(lines, csvLine{name: c.name, unit: "requests", n: strconv.Itoa(c.n)})
		}
	}
	lines = append(lines, csvRates(throughput{key: "sent_requests_per_s", rate: e.Sent})...)
	lines = append(lines, csvRates(throughputs(&e.Throughput)...)...)
	if x := e.SLO; x != nil {
		lines = append(lines, csvShare("slo_attained", x))
		for i := range x.Conditions {
			c := &x.Conditions[i]
			lines = append(lines, csvShare("slo_attained["+c.SLO.String()+"]", c))
		}
		lines = append(lines, csvRates(throughput{key: "goodput_requests_per_s", rate: x.Requests}, throughput{key: "goodput_output_tokens_per_s", rate: x.OutputTokens})...)
	}
	return slices.Concat(lines, csvQuality(e.Quality), csvEconomics(e.Economics), csvPrefix(e.Prefix), csvPhases(e.Phases), csvAudio(e.Audio), csvSessions(e.Sessions), csvImages(e.Images), csvRealtime(e.Realtime), csvStated(e.Stated), csvServers(e.Server))
}

// csvPart returns the lines of a window or of a model.
func csvPart(metrics []summary.Metric, ok, failed int, t *figure.Throughput) []csvLine {
	lines := append(csvMetrics(metrics),
		csvLine{name: "requests_ok", unit: "requests", n: strconv.Itoa(ok)}, csvLine{name: "requests_failed", unit: "requests", n: strconv.Itoa(failed)})
	return append(lines, csvRates(throughputs(t)...)...)
}

func csvMetrics(all []summary.Metric) (lines []csvLine) {
	for _, m := range all {
		lines = append(lines, csvSummary(m.Definition.Key(), string(m.Definition.Unit()), m.Summary))
	}
	return lines
}

func csvSummary(name, unit string, s *summary.Summary) csvLine {
	l := csvLine{
		name: name, unit: unit, n: strconv.Itoa(s.N), mean: float(s.Mean), std: float(s.Std), min: float(s.Min), max: float(s.Max),
	}
	for i := range s.Pct {
		l.pct = append(l.pct, float(s.Pct[i]))
	}
	return l
}

func csvRates(all ...throughput) (lines []csvLine) {
	for _, t := range all {
		if t.rate.OK {
			lines = append(lines, csvLine{name: t.key, unit: "1/s", mean: float(t.rate.PerSecond)})
		}
	}
	return lines
}

// csvShare returns the line of a share: the share in the column "mean", the number of its
// requests in "n". An unknown share is empty.
func csvShare(name string, x *figure.Attainment) csvLine {
	l := csvLine{name: name, unit: "share", n: strconv.Itoa(x.Met + x.Missed + x.Failed)}
	if x.Share.OK {
		l.mean = float(x.Share.V)
	}
	return l
}

// csvMaxLoad returns the lines of the highest load: the estimate in the column "mean",
// the highest level that surely attains the target in "min" and the lowest that surely does not
// in "max"; then the ends of the interval. An unknown value is empty.
func csvMaxLoad(m *figure.MaxLoad) []csvLine {
	l := csvLine{name: "max_load_under_slo", unit: m.Mode, mean: sheet.CSVNumber(m.Estimate)}
	if m.Within != nil {
		l.min = float(m.Within.Load)
	}
	if m.Beyond != nil {
		l.max = float(m.Beyond.Load)
	}
	lines := []csvLine{l}
	if low, high := sheet.CSVNumber(m.Interval.Low), sheet.CSVNumber(m.Interval.High); low != "" || high != "" {
		lines = append(lines, csvLine{name: "max_load_under_slo_interval", unit: m.Mode, min: low, max: high})
	}
	return lines
}

// A throughput is a rate with its names.
type throughput struct {
	key, short string
	rate       figure.Rate
}

// throughputs returns all rates, in the order of the report.
func throughputs(t *figure.Throughput) []throughput {
	return []throughput{
		{"requests_per_s", "requests/s", t.Requests},
		{"output_tokens_per_s", "output tok/s", t.OutputTokens},
		{"total_tokens_per_s", "total tok/s", t.TotalTokens},
		{"output_tokens_per_s_per_user", "output tok/s/user", t.OutputTokensPerUser},
	}
}
