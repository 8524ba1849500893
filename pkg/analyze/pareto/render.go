package pareto

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/tabular"
)

// Text writes the points and the frontiers for people, in lines of at most width characters; 0 is no
// limit.
func Text(r *Result, width int) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		b.WriteString(report.Wrap(r.axes(), "", "  ", width))
		b.WriteByte('\n')
		b.WriteString(r.table().Text("  ", width))
		b.WriteByte('\n')
		for _, line := range r.lines() {
			b.WriteString(report.Wrap(line, "", "  ", width))
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// Markdown writes the same for a pull request or a wiki.
func Markdown(r *Result) report.Renderer {
	return func(w io.Writer) error {
		var b strings.Builder
		b.WriteString(sanitize.Markdown(r.axes()) + "\n")
		b.WriteString(r.table().Markdown())
		b.WriteByte('\n')
		for _, line := range r.lines() {
			b.WriteString("- " + sanitize.Markdown(line) + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
}

// axes says what the columns mean.
func (r *Result) axes() string { return "x: " + r.UserRateName() + " · y: " + r.RateName() }

// table returns a row for each point.
func (r *Result) table() tabular.Table {
	rate := "tok/s/GPU"
	if !r.PerGPU {
		rate = "tok/s total"
	}
	rows := [][]string{{"level", "file", "GPUs", "tok/s/user", rate, "SLO met", "frontier", "n/a"}}
	for i := range r.Points {
		p := &r.Points[i]
		row := []string{sanitize.Text(p.Level), "", "", "", "", "", "", ""}
		if r.Files != nil {
			row[1] = sanitize.Text(p.File)
		}
		if r.PerGPU && p.GPUs > 0 {
			row[2] = strconv.Itoa(p.GPUs)
		}
		if p.SLO.OK {
			row[5] = tabular.Percent(p.SLO.V)
		}
		if p.Why != "" {
			row[7] = sanitize.Text(p.Why)
			rows = append(rows, row)
			continue
		}
		row[3], row[4] = report.Number(p.UserRate), report.Number(p.Rate)
		switch {
		case r.All.Knee == i:
			row[6] = "knee"
		case p.Frontier:
			row[6] = "yes"
		case p.OfFile:
			row[6] = "of its file"
		}
		rows = append(rows, row)
	}
	for i := len(rows[0]) - 1; i > 0; i-- { // leave out columns without a value
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[i] != "" }) {
			for k := range rows {
				rows[k] = slices.Delete(rows[k], i, i+1)
			}
		}
	}
	return tabular.Table{Rows: rows, Left: []string{"file", "frontier", "n/a"}}
}

// lines returns the areas, knees, capacities and notes.
func (r *Result) lines() (lines []string) {
	front := func(name string, f *Front) {
		if len(f.Points) == 0 {
			lines = append(lines, name+"n/a (no level has both rates)")
			return
		}
		area := report.Number(f.Area)
		knee := "no knee: " + f.KneeWhy
		if f.Knee >= 0 {
			knee = "knee at " + r.name(f.Knee)
		}
		lines = append(lines, fmt.Sprintf("%sarea %s above %s, %s · %s", name, area, tabular.CSVNumber(r.Options.UserReference), tabular.CSVNumber(r.Options.RateReference), knee))
	}
	front("frontier: ", &r.All)
	for i := range r.Files {
		front(sanitize.Text(r.Files[i].File)+": ", &r.Files[i])
	}
	for _, c := range r.Capacities {
		name := ""
		if r.Files != nil {
			name = sanitize.Text(c.File) + ": "
		}
		lines = append(lines, name+report.MaxLoad(c.MaxLoad))
	}
	for _, n := range r.Notes {
		lines = append(lines, sanitize.Text(n))
	}
	return lines
}

// columns are the columns of CSV.
var columns = []string{"kind", "file", "mode", "value", "gpus", "user_rate", "rate", "frontier", "file_frontier", "knee", "slo_attained", "area", "na"}

// CSV writes a line of kind "point" for each level and a line of kind "front" for each frontier, the
// frontier of all files first; schemas/pareto_csv.md names the columns.
func CSV(r *Result) report.Renderer {
	var rows []tabular.CSVRow
	for i := range r.Points {
		p := &r.Points[i]
		row := tabular.CSVRow{"kind": "point", "file": sanitize.CSVCell(p.File), "mode": sanitize.CSVCell(p.Mode), "value": sanitize.CSVCell(p.Value), "na": sanitize.CSVCell(p.Why)}
		if p.GPUs > 0 {
			row["gpus"] = strconv.Itoa(p.GPUs)
		}
		if p.Why == "" {
			row["user_rate"], row["rate"] = tabular.CSVNumber(p.UserRate), tabular.CSVNumber(p.Rate)
			row["frontier"], row["file_frontier"] = strconv.FormatBool(p.Frontier), strconv.FormatBool(p.OfFile)
			row["knee"] = strconv.FormatBool(r.All.Knee == i)
		}
		if p.SLO.OK {
			row["slo_attained"] = tabular.CSVNumber(p.SLO.V)
		}
		rows = append(rows, row)
	}
	for _, f := range append([]Front{r.All}, r.Files...) {
		row := tabular.CSVRow{"kind": "front", "file": sanitize.CSVCell(f.File), "area": tabular.CSVNumber(f.Area), "na": sanitize.CSVCell(f.KneeWhy)}
		if f.Knee >= 0 {
			p := &r.Points[f.Knee]
			row["mode"], row["value"] = sanitize.CSVCell(p.Mode), sanitize.CSVCell(p.Value)
			row["user_rate"], row["rate"] = tabular.CSVNumber(p.UserRate), tabular.CSVNumber(p.Rate)
		}
		rows = append(rows, row)
	}
	return tabular.CSV(columns, rows)
}

// Schema names the layout that JSON writes.
const Schema = "pa-pareto/1"

type jsonDocument struct {
	Schema     string         `json:"schema"`
	UserRate   string         `json:"user_rate"`
	Rate       string         `json:"rate"`
	PerGPU     bool           `json:"per_gpu"`
	Reference  jsonReference  `json:"reference"`
	Points     []jsonPoint    `json:"points"`
	Front      jsonFront      `json:"front"`
	Files      []jsonFront    `json:"file_fronts,omitempty"`
	Capacities []jsonCapacity `json:"max_loads,omitempty"`
	Notes      []string       `json:"notes"`
}

type jsonReference struct {
	UserRate float64 `json:"user_rate"`
	Rate     float64 `json:"rate"`
}

type jsonPoint struct {
	File     string   `json:"file"`
	Level    string   `json:"level"`
	Mode     string   `json:"mode"`
	Value    string   `json:"value"`
	GPUs     int      `json:"gpus,omitempty"`
	UserRate *float64 `json:"user_rate,omitempty"`
	Rate     *float64 `json:"rate,omitempty"`
	Frontier bool     `json:"frontier"`
	OfFile   bool     `json:"file_frontier"`
	SLO      *float64 `json:"slo_attained,omitempty"`
	NA       string   `json:"na,omitempty"`
}

type jsonFront struct {
	File   string  `json:"file,omitempty"`
	Points []int   `json:"points"`
	Area   float64 `json:"area"`
	Knee   *int    `json:"knee,omitempty"`
	KneeNA string  `json:"knee_na,omitempty"`
}

type jsonCapacity struct {
	File    string `json:"file"`
	MaxLoad any    `json:"max_load"`
}

// JSON writes one object in the layout of schemas/pareto.schema.json.
func JSON(r *Result) report.Renderer {
	d := jsonDocument{
		Schema: Schema, UserRate: "1 / mean TPOT", Rate: "output_tokens_per_s", PerGPU: r.PerGPU,
		Reference: jsonReference{r.Options.UserReference, r.Options.RateReference},
		Points:    []jsonPoint{}, Front: jsonFrontOf(&r.All), Notes: append([]string{}, r.Notes...),
	}
	if r.Options.WholeRequest {
		d.UserRate = "mean of output tokens / E2EL"
	}
	if r.Options.TotalTokens {
		d.Rate = "total_tokens_per_s"
	}
	for i := range r.Points {
		p := &r.Points[i]
		x := jsonPoint{File: p.File, Level: p.Level, Mode: p.Mode, Value: p.Value, GPUs: p.GPUs, Frontier: p.Frontier, OfFile: p.OfFile, NA: p.Why}
		if p.Why == "" {
			x.UserRate, x.Rate = &p.UserRate, &p.Rate
		}
		if p.SLO.OK {
			x.SLO = &p.SLO.V
		}
		d.Points = append(d.Points, x)
	}
	for i := range r.Files {
		d.Files = append(d.Files, jsonFrontOf(&r.Files[i]))
	}
	for _, c := range r.Capacities {
		d.Capacities = append(d.Capacities, jsonCapacity{c.File, report.MaxLoadJSON(c.MaxLoad)})
	}
	return report.Indented(d)
}

func jsonFrontOf(f *Front) jsonFront {
	j := jsonFront{File: f.File, Points: append([]int{}, f.Points...), Area: f.Area, KneeNA: f.KneeWhy}
	if f.Knee >= 0 {
		j.Knee = &f.Knee
	}
	return j
}
