package check

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Text writes the checklists for people, in lines of at most width characters; 0 is no limit.
func Text(all []*Result, width int) sheet.Renderer { return sheet.Text(width, sheets(all)...) }

// Markdown writes the checklists for a pull request or a wiki.
func Markdown(all []*Result) sheet.Renderer { return sheet.Markdown(sheets(all)...) }

// sheets returns the checklists for people.
func sheets(all []*Result) (sheets []*sheet.Sheet) {
	for _, r := range all {
		s := &sheet.Sheet{Heads: []string{r.headline()}}
		for i := range r.Levels {
			l := &r.Levels[i]
			part := s.Part(l.Name)
			if l.Problem != nil {
				part.Lines("n/a: " + l.Problem.Error())
				continue
			}
			items := sheet.AllLeft([][]string{{"item", "status", "number"}})
			for _, x := range l.Items {
				items.Add(x.Name, string(x.Status), x.Text)
				items.Lines = append(items.Lines, fmt.Sprintf("%-4s  %s: %s", x.Status, x.Name, x.Text))
			}
			part.Table(items).Table(sheet.Table{Caption: "certified percentiles in ms (99 % confidence, early stopping)", Rows: l.certificate()})
		}
		sheets = append(sheets, s)
	}
	return sheets
}

// headline counts the items by status.
func (r *Result) headline() string {
	counts := map[Status]int{}
	for i := range r.Levels {
		for _, x := range r.Levels[i].Items {
			counts[x.Status]++
		}
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d n/a (profile %s)", r.File, counts[Pass], counts[Fail], counts[NA], r.Profile.Name)
}

// certificate returns the table of certified percentiles; nil without one.
func (l *Level) certificate() [][]string {
	if len(l.Certificates) == 0 {
		return nil
	}
	head := []string{"", "n", "independent"}
	for _, p := range l.Certificates[0].Percentiles {
		head = append(head, report.PercentileName(p.Level))
	}
	rows := [][]string{head}
	for _, c := range l.Certificates {
		row := []string{c.Metric.Label(), strconv.Itoa(c.N), c.independent()}
		for _, p := range c.Percentiles {
			if p.OK {
				row = append(row, strconv.FormatFloat(p.Value/1e6, 'f', 3, 64))
			} else {
				row = append(row, fmt.Sprintf("n/a (< %d)", p.Least))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// independent writes the number of independent values; "n/a" if it is not known.
func (c *Certificate) independent() string {
	if c.EffectiveN == 0 {
		return string(NA)
	}
	return strconv.Itoa(int(c.EffectiveN))
}

// Schema names the layout that JSON writes.
const Schema = "pa-check/1"

type jsonDocument struct {
	Schema string     `json:"schema"`
	Files  []jsonFile `json:"files"`
}

type jsonFile struct {
	File    string      `json:"file"`
	Tool    string      `json:"tool,omitempty"`
	Profile string      `json:"profile"`
	Passed  bool        `json:"passed"`
	Levels  []jsonLevel `json:"levels"`
}

type jsonLevel struct {
	Name    string     `json:"name"`
	Mode    string     `json:"mode"`
	Value   string     `json:"value"`
	Problem string     `json:"problem,omitempty"`
	Items   []jsonItem `json:"items"`
	// Certificates hold nanoseconds by metric and percentile; null if the values are too few.
	Certificates map[string]jsonCertificate `json:"certified,omitempty"`
}

type jsonItem struct {
	Name   string   `json:"name"`
	Status Status   `json:"status"`
	Value  *float64 `json:"value,omitempty"`
	Unit   string   `json:"unit,omitempty"`
	Text   string   `json:"text"`
}

type jsonCertificate struct {
	N           int                 `json:"n"`
	EffectiveN  float64             `json:"effective_n,omitempty"`
	Confidence  float64             `json:"confidence"`
	Percentiles map[string]*float64 `json:"percentiles"`
	Independent map[string]*float64 `json:"if_independent"`
	Least       map[string]int      `json:"least_samples"`
}

// JSON writes one object in the layout of schemas/check.schema.json.
func JSON(all []*Result) sheet.Renderer {
	d := jsonDocument{Schema: Schema, Files: []jsonFile{}}
	for _, r := range all {
		f := jsonFile{File: r.File, Tool: r.Tool, Profile: r.Profile.Name, Passed: r.Failed() == nil, Levels: []jsonLevel{}}
		for i := range r.Levels {
			l := &r.Levels[i]
			x := jsonLevel{Name: l.Name, Mode: l.Mode, Value: l.Value, Items: []jsonItem{}}
			if l.Problem != nil {
				x.Problem = l.Problem.Error()
			}
			for _, it := range l.Items {
				j := jsonItem{Name: it.Name, Status: it.Status, Text: it.Text}
				if it.HasValue {
					j.Value, j.Unit = &it.Value, it.Unit
				}
				x.Items = append(x.Items, j)
			}
			for _, c := range l.Certificates {
				if x.Certificates == nil {
					x.Certificates = map[string]jsonCertificate{}
				}
				j := jsonCertificate{
					N: c.N, EffectiveN: c.EffectiveN, Confidence: confidence,
					Percentiles: map[string]*float64{}, Independent: map[string]*float64{}, Least: map[string]int{},
				}
				for _, p := range c.Percentiles {
					name := report.PercentileName(p.Level)
					j.Percentiles[name], j.Independent[name], j.Least[name] = nil, nil, p.Least
					if p.OK {
						j.Percentiles[name] = &p.Value
					}
					if p.IndependentOK {
						j.Independent[name] = &p.Independent
					}
				}
				x.Certificates[c.Metric.Key()] = j
			}
			f.Levels = append(f.Levels, x)
		}
		d.Files = append(d.Files, f)
	}
	return sheet.JSON(d)
}

// columns are the columns of CSV.
var columns = []string{"kind", "file", "mode", "value", "name", "percentile", "status", "number", "unit", "n", "least_n", "text", "effective_n", "if_independent"}

// CSV writes a line for each item, each certified percentile, and each level without figures;
// schemas/check_csv.md names the columns.
func CSV(all []*Result) sheet.Renderer {
	var rows []sheet.CSVRow
	for _, r := range all {
		for i := range r.Levels {
			l := &r.Levels[i]
			add := func(kind, name string, status Status, text string) sheet.CSVRow {
				row := sheet.CSVRow{
					"kind": kind, "file": r.File, "mode": l.Mode, "value": l.Value,
					"name": name, "status": string(status), "text": text,
				}
				rows = append(rows, row)
				return row
			}
			if l.Problem != nil {
				add("level", "", NA, l.Problem.Error())
			}
			for _, x := range l.Items {
				row := add("item", x.Name, x.Status, x.Text)
				if x.HasValue {
					row["number"], row["unit"] = sheet.CSVNumber(x.Value), x.Unit
				}
			}
			for _, c := range l.Certificates {
				for _, p := range c.Percentiles {
					row := add("percentile", c.Metric.Key(), Pass, "")
					row["percentile"], row["unit"] = sheet.CSVNumber(p.Level), string(c.Metric.Unit())
					row["n"], row["least_n"] = strconv.Itoa(c.N), strconv.Itoa(p.Least)
					if c.EffectiveN > 0 {
						row["effective_n"] = sheet.CSVNumber(c.EffectiveN)
					}
					if p.IndependentOK {
						row["if_independent"] = sheet.CSVNumber(p.Independent)
					}
					if p.OK {
						row["number"] = sheet.CSVNumber(p.Value)
					} else {
						row["status"] = string(NA)
					}
				}
			}
		}
	}
	return sheet.CSV(columns, rows)
}

// JUnit writes a suite for each level of each file, with a case for each item.
func JUnit(all []*Result) sheet.Renderer {
	var suites []sheet.Suite
	for _, r := range all {
		for i := range r.Levels {
			l := &r.Levels[i]
			s := sheet.Suite{Name: r.File + " " + l.Name}
			if l.Problem != nil {
				s.Cases = append(s.Cases, sheet.Case{Class: s.Name, Name: "level", Error: l.Problem.Error()})
			}
			for _, x := range l.Items {
				c := sheet.Case{Class: s.Name, Name: x.Name}
				switch x.Status {
				case Fail:
					c.Failure = x.Text
				case NA:
					c.Skipped = x.Text
				default:
					c.Out = x.Text
				}
				s.Cases = append(s.Cases, c)
			}
			suites = append(suites, s)
		}
	}
	return sheet.JUnit("pa-analyze check", suites)
}
