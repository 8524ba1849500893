package pareto

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Formats returns the forms of the result: text, Markdown, JSON in the layout of schemas/pareto.schema.json, and
// CSV with the columns of schemas/pareto_csv.md.
func (r *Result) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: sheet.One(r.sheet), JSON: r.json, Columns: columns, CSV: r.csv}
}

// sheet returns the points and the frontiers for people.
func (r *Result) sheet() *sheet.Sheet {
	s := &sheet.Sheet{About: []string{"x: " + r.UserRateName() + " · y: " + r.RateName()}, Notes: r.lines(), Bullets: true}
	s.Parts = []*sheet.Part{{Indent: "  "}}
	s.Parts[0].Table(r.table())
	return s
}

// table returns a row for each point.
func (r *Result) table() sheet.Table {
	rate := "tok/s/GPU"
	if !r.PerGPU {
		rate = "tok/s total"
	}
	rows := [][]string{{"level", "file", "GPUs", "tok/s/user", rate, "SLO met", "frontier", "n/a"}}
	for i := range r.Points {
		p := &r.Points[i]
		row := []string{p.Level, "", "", "", "", "", "", ""}
		if r.Files != nil {
			row[1] = p.File
		}
		if r.PerGPU && p.GPUs > 0 {
			row[2] = strconv.Itoa(p.GPUs)
		}
		if p.SLO.OK {
			row[5] = sheet.Percent(p.SLO.V)
		}
		if p.Why != "" {
			row[7] = p.Why
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
	t := sheet.Table{Rows: rows, Left: []string{"file", "frontier", "n/a"}}
	t.DropEmpty()
	return t
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
		lines = append(lines, fmt.Sprintf("%sarea %s above %s, %s · %s", name, area, sheet.CSVNumber(r.Options.UserReference), sheet.CSVNumber(r.Options.RateReference), knee))
	}
	front("frontier: ", &r.All)
	for i := range r.Files {
		front(r.Files[i].File+": ", &r.Files[i])
	}
	for _, c := range r.Capacities {
		name := ""
		if r.Files != nil {
			name = c.File + ": "
		}
		lines = append(lines, name+report.MaxLoad(c.MaxLoad))
	}
	return append(lines, r.Notes...)
}

// columns are the columns of CSV.
var columns = []string{"kind", "file", "mode", "value", "gpus", "user_rate", "rate", "frontier", "file_frontier", "knee", "slo_attained", "area", "na", "stated_by"}

// csv returns a line of kind "point" for each level and a line of kind "front" for each frontier, the
// frontier of all files first.
func (r *Result) csv() (rows []sheet.CSVRow) {
	for i := range r.Points {
		p := &r.Points[i]
		row := sheet.CSVRow{"kind": "point", "file": p.File, "mode": p.Mode, "value": p.Value, "na": p.Why, "stated_by": r.Stated}
		if p.GPUs > 0 {
			row["gpus"] = strconv.Itoa(p.GPUs)
		}
		if p.Why == "" {
			row["user_rate"], row["rate"] = sheet.CSVNumber(p.UserRate), sheet.CSVNumber(p.Rate)
			row["frontier"], row["file_frontier"] = strconv.FormatBool(p.Frontier), strconv.FormatBool(p.OfFile)
			row["knee"] = strconv.FormatBool(r.All.Knee == i)
		}
		if p.SLO.OK {
			row["slo_attained"] = sheet.CSVNumber(p.SLO.V)
		}
		rows = append(rows, row)
	}
	for _, f := range append([]Front{r.All}, r.Files...) {
		row := sheet.CSVRow{"kind": "front", "file": f.File, "area": sheet.CSVNumber(f.Area), "na": f.KneeWhy}
		if f.Knee >= 0 {
			p := &r.Points[f.Knee]
			row["mode"], row["value"] = p.Mode, p.Value
			row["user_rate"], row["rate"] = sheet.CSVNumber(p.UserRate), sheet.CSVNumber(p.Rate)
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *Result) json() sheet.Object {
	userRate, rate := "1 / mean TPOT", "output_tokens_per_s"
	if r.Options.WholeRequest {
		userRate = "mean of output tokens / E2EL"
	}
	if r.Options.TotalTokens {
		rate = "total_tokens_per_s"
	}
	if r.Stated != "" {
		userRate, rate = r.statedRates.User, r.statedRates.GPU
	}
	capacities := sheet.List(r.Capacities, func(c *Capacity) sheet.Object {
		return sheet.Object{"file", c.File, "max_load", report.MaxLoadJSON(c.MaxLoad)}
	})
	return sheet.Object{
		"schema", "pa-pareto/1", "user_rate", userRate, "rate", rate, "stated_by", sheet.Opt(r.Stated), "per_gpu", r.PerGPU,
		"reference",
		sheet.Object{"user_rate", r.Options.UserReference, "rate", r.Options.RateReference},
		"points", sheet.List(r.Points, (*Point).json), "front", r.All.json(), "file_fronts", sheet.Opt(sheet.List(r.Files, (*Front).json)),
		"max_loads", sheet.Opt(capacities), "notes", r.Notes,
	}
}

func (p *Point) json() sheet.Object {
	o := sheet.Object{"file", p.File, "level", p.Level, "mode", p.Mode, "value", p.Value, "gpus", sheet.Opt(p.GPUs)}
	if p.Why == "" {
		o = append(o, "user_rate", p.UserRate, "rate", p.Rate)
	}
	o = append(o, "frontier", p.Frontier, "file_frontier", p.OfFile)
	if p.SLO.OK {
		o = append(o, "slo_attained", p.SLO.V)
	}
	return append(o, "na", sheet.Opt(p.Why))
}

func (f *Front) json() sheet.Object {
	o := sheet.Object{"file", sheet.Opt(f.File), "points", f.Points, "area", f.Area}
	if f.Knee >= 0 {
		o = append(o, "knee", f.Knee)
	}
	return append(o, "knee_na", sheet.Opt(f.KneeWhy))
}
