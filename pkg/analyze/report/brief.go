package report

import (
	"io"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/answer"
)

// Brief returns a renderer of one line per load level: requests ok and failed, the sent
// rate of an open loop, TTFT and ITL (p50 and p99), and output tokens per second. If the answers of a level were
// not streamed, it has no TTFT, and the lines have columns for E2EL. Figures, units
// and digits are as in the levels of [Table].
func Brief(rep *analyze.Report) Renderer {
	return func(w io.Writer) error {
		g := brief(rep)
		_, err := io.WriteString(w, g.Text("", 0))
		return err
	}
}

func brief(rep *analyze.Report) sheet.Table {
	units := timeUnitsOf([]Input{{Report: rep}})
	mode, mixed := modes(rep)
	for i := range rep.Experiments {
		if rep.Experiments[i].Load != "" && !mixed {
			mode, mixed = "level", true
		}
	}
	type column struct {
		name, unit string
		cell       func(e *analyze.Experiment) string
	}
	var columns []column
	if slices.ContainsFunc(rep.Experiments, func(e analyze.Experiment) bool { return e.Sent.OK }) {
		columns = append(columns, column{"sent", "/s", func(e *analyze.Experiment) string { return rateOrNA(e.Sent) }})
	}
	latency := func(m answer.Metric, sc TimeUnit) {
		for _, pct := range []float64{50, 99} {
			columns = append(columns, column{m.Label(), PercentileName(pct) + " " + sc.name, func(e *analyze.Experiment) string {
				s := e.Metric(m)
				if s == nil {
					return "n/a"
				}
				return Number(s.P(pct) / sc.per)
			}})
		}
	}
	some := func(has func(e *analyze.Experiment) bool) bool {
		for i := range rep.Experiments {
			if e := &rep.Experiments[i]; e.OK > 0 && has(e) {
				return true
			}
		}
		return false
	}
	if some(func(e *analyze.Experiment) bool { return e.Metric(answer.TTFT) != nil }) {
		latency(answer.TTFT, units.token)
		latency(answer.ITL, units.token)
	}
	if some(func(e *analyze.Experiment) bool { return e.Metric(answer.TTFT) == nil }) {
		latency(answer.E2EL, units.request)
	}
	rate := column{"output", "tok/s", func(e *analyze.Experiment) string { return rateOrNA(e.Throughput.OutputTokens) }}
	if !some(func(e *analyze.Experiment) bool { return e.Throughput.OutputTokens.OK }) {
		rate = column{"requests", "/s", func(e *analyze.Experiment) string { return rateOrNA(e.Throughput.Requests) }}
	}
	columns = append(columns, rate)

	g := newGrid(1, 2)
	head, below := []string{mode, "ok", "failed"}, []string{"", "", ""}
	for _, c := range columns {
		head, below = append(head, c.name), append(below, c.unit)
	}
	g.Add(head...)
	g.Add(below...)
	for _, e := range byLoad(rep) {
		row := []string{levelIn(e, mixed), strconv.Itoa(e.OK), strconv.Itoa(e.FailedRequests())}
		for _, c := range columns {
			row = append(row, c.cell(e))
		}
		g.Add(row...)
	}
	return g
}
