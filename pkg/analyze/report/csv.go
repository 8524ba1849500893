package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
)

// CSV writes one line per metric of each experiment of each input, with all percentiles.
// The counts, throughputs and results of the objective follow; their values are in the
// columns "n" or "mean". Then come the same lines of each model if there are several, and
// of each window. schemas/report_csv.md names the columns and lines. Times are
// nanoseconds, rates are per second, and floats have all their digits.
func CSV(inputs []Input) Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		header := []string{"file", "experiment", "mode", "value", "metric", "unit", "n", "mean", "std", "min"}
		for _, level := range analyze.Levels {
			header = append(header, PercentileName(level))
		}
		header = append(header, "max", "window", "from_ns", "to_ns", "model")
		if err := c.Write(header); err != nil {
			return err
		}
		// write fills up a row; place holds the first of its last four columns.
		write := func(row []string, place ...string) error {
			for len(row) < len(header)-4 {
				row = append(row, "")
			}
			row = append(row, place...)
			for len(row) < len(header) {
				row = append(row, "")
			}
			return c.Write(sanitize.CSVRow(row))
		}
		for _, in := range inputs {
			for i := range in.Report.Experiments {
				e := &in.Report.Experiments[i]
				first := []string{in.Name, strconv.Itoa(i), e.Mode, e.Value}
				place := []string{""}
				if s := e.Selected; s != nil {
					place = append(place, since(s.FromNS, s.Level), since(s.ToNS, s.Level))
				}
				for _, row := range csvRows(e) {
					if err := write(append(first[:4:4], row...), place...); err != nil {
						return err
					}
				}
				for len(place) < 3 {
					place = append(place, "")
				}
				for j := range e.Models {
					m := &e.Models[j]
					for _, row := range csvPart(m.Metrics, m.OK, m.Failed, &m.Throughput) {
						if err := write(append(first[:4:4], row...), append(place[:3:3], m.Model)...); err != nil {
							return err
						}
					}
				}
				for j := range e.Windows {
					w := &e.Windows[j]
					place := []string{strconv.Itoa(j), strconv.FormatInt(w.OffsetNS, 10), strconv.FormatInt(w.OffsetNS+int64(w.Duration()), 10)}
					for _, row := range csvPart(w.Metrics, w.OK, w.Failed, &w.Throughput) {
						if err := write(append(first[:4:4], row...), place...); err != nil {
							return err
						}
					}
				}
			}
			if m := in.Report.MaxLoad(); m != nil {
				for _, row := range csvMaxLoad(m) {
					if err := write(append([]string{in.Name, "", m.Mode, ""}, row...)); err != nil {
						return err
					}
				}
			}
		}
		c.Flush()
		return c.Error()
	}
}

// since returns the time from the start of the level to an instant.
func since(ns uint64, level analyze.Span) string {
	return strconv.FormatInt(int64(ns-level.FromNS), 10)
}

func csvRows(e *analyze.Experiment) [][]string {
	rows := csvMetrics(e.Metrics)
	for _, c := range []struct {
		name string
		n    int
	}{{"requests_ok", e.OK}, {"requests_failed", e.FailedRequests()}, {"requests_excluded", e.ExcludedRequests()}, {"requests_unreadable", e.Unreadable}} {
		rows = append(rows, []string{c.name, "requests", strconv.Itoa(c.n)})
	}
	for _, c := range []struct {
		name string
		n    int
	}{{"requests_resent", e.Resent}, {"requests_paused", e.Paused}} {
		if c.n > 0 {
			rows = append(rows, []string{c.name, "requests", strconv.Itoa(c.n)})
		}
	}
	rows = append(rows, csvRates([]throughput{{key: "sent_requests_per_s", rate: e.Sent}})...)
	rows = append(rows, csvRates(throughputs(&e.Throughput))...)
	if x := e.SLO; x != nil {
		rows = append(rows, csvShare("slo_attained", x))
		for i := range x.Conditions {
			c := &x.Conditions[i]
			rows = append(rows, csvShare("slo_attained["+c.SLO.String()+"]", c))
		}
		rows = append(rows, csvRates([]throughput{{key: "goodput_requests_per_s", rate: x.Requests}, {key: "goodput_output_tokens_per_s", rate: x.OutputTokens}})...)
	}
	return append(append(rows, slices.Concat(csvQuality(e.Quality), csvEconomics(e.Economics), csvPrefix(e.Prefix), csvPhases(e.Phases))...), csvServers(e.Server)...)
}

// csvPart returns the lines of a window or of a model.
func csvPart(metrics []analyze.MetricSummary, ok, failed int, t *analyze.Throughput) [][]string {
	rows := csvMetrics(metrics)
	rows = append(rows, []string{"requests_ok", "requests", strconv.Itoa(ok)}, []string{"requests_failed", "requests", strconv.Itoa(failed)})
	return append(rows, csvRates(throughputs(t))...)
}

func csvMetrics(all []analyze.MetricSummary) [][]string {
	var rows [][]string
	for _, m := range all {
		s := m.Summary
		row := []string{m.Definition.Key(), string(m.Definition.Unit()), strconv.Itoa(s.N), float(s.Mean), float(s.Std), float(s.Min)}
		for i := range s.Pct {
			row = append(row, float(s.Pct[i]))
		}
		rows = append(rows, append(row, float(s.Max)))
	}
	return rows
}

func csvRates(all []throughput) [][]string {
	var rows [][]string
	for _, t := range all {
		if t.rate.OK {
			rows = append(rows, []string{t.key, "1/s", "", float(t.rate.PerSecond)})
		}
	}
	return rows
}

// csvShare returns the line of a share: the share in the column "mean", the number of its
// requests in "n". An unknown share is empty.
func csvShare(name string, x *analyze.Attainment) []string {
	row := []string{name, "share", strconv.Itoa(x.Met + x.Missed + x.Failed)}
	if x.Share.OK {
		row = append(row, float(x.Share.V))
	}
	return row
}

// csvMaxLoad returns the lines of the highest load: the estimate in the column "mean",
// the highest level that surely attains the target in "min" and the lowest that surely does not
// in "max"; then the ends of the interval. An unknown value is empty.
func csvMaxLoad(m *analyze.MaxLoad) [][]string {
	row := func(name, mean, least, most string) []string {
		r := make([]string, 7+len(analyze.Levels))
		r[0], r[1], r[3], r[5], r[len(r)-1] = name, m.Mode, mean, least, most
		return r
	}
	end := func(v float64) string {
		if !bounded(v) {
			return ""
		}
		return float(v)
	}
	estimate, within, beyond := end(m.Estimate), "", ""
	if m.Within != nil {
		within = float(m.Within.Load)
	}
	if m.Beyond != nil {
		beyond = float(m.Beyond.Load)
	}
	rows := [][]string{row("max_load_under_slo", estimate, within, beyond)}
	if low, high := end(m.Interval.Low), end(m.Interval.High); low != "" || high != "" {
		rows = append(rows, row("max_load_under_slo_interval", "", low, high))
	}
	return rows
}

// A throughput is a rate with its names.
type throughput struct {
	key, short string
	rate       analyze.Rate
}

// throughputs returns all rates, in the order of the report.
func throughputs(t *analyze.Throughput) []throughput {
	return []throughput{
		{"requests_per_s", "requests/s", t.Requests},
		{"output_tokens_per_s", "output tok/s", t.OutputTokens},
		{"total_tokens_per_s", "total tok/s", t.TotalTokens},
		{"output_tokens_per_s_per_user", "output tok/s/user", t.OutputTokensPerUser},
	}
}
