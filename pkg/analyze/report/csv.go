package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
)

// CSV writes one line per metric of each experiment of each input, with all
// percentiles; after them one line per throughput, whose value stands under
// "mean". Times are nanoseconds, rates per second, floats have all their
// digits.
func CSV(inputs []Input) Renderer {
	return func(w io.Writer) error {
		c := csv.NewWriter(w)
		header := []string{"file", "experiment", "mode", "value", "metric", "unit", "n", "mean", "std", "min"}
		for _, level := range analyze.Levels {
			header = append(header, levelName(level))
		}
		if err := c.Write(append(header, "max")); err != nil {
			return err
		}
		for _, in := range inputs {
			for i := range in.Report.Experiments {
				e := &in.Report.Experiments[i]
				for _, row := range csvRows(e) {
					row = append([]string{in.Name, strconv.Itoa(i), e.Mode, e.Value}, row...)
					for len(row) < len(header)+1 {
						row = append(row, "")
					}
					if err := c.Write(row); err != nil {
						return err
					}
				}
			}
		}
		c.Flush()
		return c.Error()
	}
}

func csvRows(e *analyze.Experiment) [][]string {
	var rows [][]string
	for _, m := range e.Metrics {
		s := m.Summary
		row := []string{m.Definition.Key, m.Definition.Unit.String(), strconv.Itoa(s.N), float(s.Mean), float(s.Std), float(s.Min)}
		for i := range s.Pct {
			row = append(row, float(s.Pct[i]))
		}
		rows = append(rows, append(row, float(s.Max)))
	}
	for _, c := range []struct {
		name string
		n    int
	}{{"requests_ok", e.OK}, {"requests_failed", e.FailedRequests()}, {"requests_excluded", e.ExcludedRequests()}, {"requests_unreadable", e.Unreadable}} {
		rows = append(rows, []string{c.name, "requests", strconv.Itoa(c.n)})
	}
	for _, t := range throughputs(e) {
		if t.rate.OK {
			rows = append(rows, []string{t.key, "1/s", "", float(t.rate.PerSecond)})
		}
	}
	return rows
}

// A throughput is a rate and what it is called.
type throughput struct {
	key, short string
	rate       analyze.Rate
}

func throughputs(e *analyze.Experiment) []throughput {
	t := &e.Throughput
	return []throughput{
		{"requests_per_s", "requests/s", t.Requests},
		{"output_tokens_per_s", "output tok/s", t.OutputTokens},
		{"total_tokens_per_s", "total tok/s", t.TotalTokens},
		{"output_tokens_per_s_per_user", "output tok/s/user", t.OutputTokensPerUser},
	}
}
