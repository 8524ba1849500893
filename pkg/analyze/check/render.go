package check

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Checklist is the result of each file.
type Checklist []*Result

// Formats returns the forms of the checklist: text, Markdown, JSON in the layout of schemas/check.schema.json, CSV
// with the columns of schemas/check_csv.md, and JUnit XML.
func (all Checklist) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: all.sheets, JSON: all.json, Columns: columns, CSV: all.csv, JUnit: all.junit}
}

// sheets returns the checklist of each file for people.
func (all Checklist) sheets() (sheets []*sheet.Sheet) {
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
func (l *LevelChecklist) certificate() [][]string {
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

func (all Checklist) json() sheet.Object {
	return sheet.Object{"schema", "pa-check/1", "files", sheet.ListOf(all, func(r *Result) sheet.Object {
		return sheet.Object{"file", r.File, "tool", sheet.Opt(r.Tool), "profile", r.Profile.Name, "passed", r.Failed() == nil, "levels", sheet.List(r.Levels, (*LevelChecklist).json)}
	})}
}

func (l *LevelChecklist) json() sheet.Object {
	o := sheet.Object{"name", l.Name, "mode", l.Mode, "value", l.Value}
	if l.Problem != nil {
		o = append(o, "problem", sheet.Opt(l.Problem.Error()))
	}
	certified := map[string]sheet.Object{}
	for i := range l.Certificates {
		c := &l.Certificates[i]
		certified[c.Metric.Key()] = c.json()
	}
	if len(certified) == 0 {
		certified = nil
	}
	return append(o, "items", sheet.List(l.Items, (*Item).json), "certified", sheet.Opt(certified))
}

func (x *Item) json() sheet.Object {
	o := sheet.Object{"name", x.Name, "status", x.Status}
	if x.HasValue {
		o = append(o, "value", x.Value, "unit", sheet.Opt(x.Unit))
	}
	return append(o, "text", x.Text)
}

// json returns nanoseconds by percentile; null if the values are too few.
func (c *Certificate) json() sheet.Object {
	percentiles, independent, least := map[string]*float64{}, map[string]*float64{}, map[string]int{}
	for _, p := range c.Percentiles {
		name := report.PercentileName(p.Level)
		percentiles[name], independent[name], least[name] = nil, nil, p.Least
		if p.OK {
			percentiles[name] = &p.Value
		}
		if p.IndependentOK {
			independent[name] = &p.Independent
		}
	}
	return sheet.Object{
		"n", c.N, "effective_n", sheet.Opt(c.EffectiveN), "confidence", confidence,
		"percentiles", percentiles, "if_independent", independent, "least_samples", least,
	}
}

// columns are the columns of CSV.
var columns = []string{"kind", "file", "mode", "value", "name", "percentile", "status", "number", "unit", "n", "least_n", "text", "effective_n", "if_independent"}

// csv returns a line for each item, each certified percentile, and each level without figures.
func (all Checklist) csv() (rows []sheet.CSVRow) {
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
	return rows
}

// junit returns a suite for each level of each file, with a case for each item.
func (all Checklist) junit() (name string, suites []sheet.Suite) {
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
	return "pa-analyze check", suites
}
