package guidellm

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// The CSV has three lines of headers: the group, the name, and the unit or the statistic. Each further line is a benchmark.
const headerLines = 3

// isCSV reports whether a text is a report in CSV.
func isCSV(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(first, []byte("Run Info,Run Info,")) && bytes.Contains(first, []byte(",Request Counts,"))
}

// percentilesOfList are the names of the numbers in a cell of percentiles.
var percentilesOfList = []string{"min", "p001", "p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99", "max"}

// readTable reads the levels of a report in CSV. It does not say the rate or the streams of a level: the place in the run tells levels apart.
func readTable(content []byte, r *stated.Result) error {
	if err := resultfile.CheckTable(content); err != nil {
		return err
	}
	rows, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) < headerLines {
		return fmt.Errorf("%s, want %d of headers", plural.Of(len(rows), "line"), headerLines)
	}
	for _, row := range rows[headerLines:] {
		l := stated.Level{}
		for i, cell := range row {
			switch group, name, last := rows[0][i], rows[1][i], rows[2][i]; {
			case cell == "":
			case group == "Benchmark" && name == "Strategy":
				e := loadOf(cell, "", "", "")
				l.Mode, l.Value = e.Mode, e.Value
			case group == "Run Info" && name == "Backend":
				var b struct{ Model, Target string }
				if json.Unmarshal([]byte(cell), &b) == nil && r.Model == "" {
					r.Model, r.URL = b.Model, resultfile.WithoutSecrets(b.Target)
				}
			case group == "Runtime Info" && name == "Metadata":
				var m struct {
					Version string `json:"guidellm_version"`
				}
				if json.Unmarshal([]byte(cell), &m) == nil {
					r.Release = m.Version
				}
			case group == "Run Info" && name == "Run Index":
				l.Settings = append(l.Settings, stated.Setting{Name: "Run Index", Value: cell})
			case group == "Request Counts":
				l.Figures = append(l.Figures, resultfile.TextFigure("request_totals "+strings.ToLower(name), "", "", cell))
			case group == "Timings" && last == "Sec":
				l.Figures = append(l.Figures, resultfile.TextFigure(group+" "+name, "", "s", cell))
			default:
				l.Figures = append(l.Figures, cellFigures(group, name, last, cell)...)
			}
		}
		r.Levels = append(r.Levels, l)
	}
	return nil
}

// cellFigures returns the figures of a cell: a statistic, or a list of percentiles. The name has the status of the requests and the unit.
func cellFigures(group, name, statistic, cell string) (all []stated.Figure) {
	status, unit, ok := strings.Cut(name, " ")
	if !ok || !slices.Contains([]string{"Successful", "Incomplete", "Errored"}, status) {
		return nil // of the scheduler
	}
	metric := group
	switch unit {
	case "Sec":
		unit = "s"
	case "ms":
	case "Count":
		unit = ""
	default: // a metric of a group: "Output Tokens/Sec"
		metric, unit = group+" "+unit, ""
	}
	if status != "Successful" {
		metric += " " + strings.ToLower(status)
	}
	if statistic != "Percentiles" {
		return []stated.Figure{resultfile.TextFigure(metric, strings.ReplaceAll(strings.ToLower(statistic), " ", "_"), unit, cell)}
	}
	numbers := strings.Split(strings.Trim(cell, "[]"), ", ")
	for i, p := range percentilesOfList {
		if i < len(numbers) {
			all = append(all, resultfile.TextFigure(metric, p, unit, numbers[i]))
		}
	}
	return all
}
