package stated

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// CompareSchema is the schema of the JSON of a [Comparison].
const CompareSchema = "pa-stated-diff/1"

// NoInterval says why a comparison of figures decides nothing.
const NoInterval = "no interval: the file holds figures only, so nothing tells a change from chance"

// A Comparison sets the figures of two results side by side. It never decides.
type Comparison struct {
	Old, New *Result
	Levels   []LevelPair
	// Lost says what differs besides the figures, and what has no counterpart and so is in no row.
	Lost []string

	by levelpair.By
}

// A LevelPair is a load level that both results have.
type LevelPair struct {
	Old, New *Level
	Rows     []Row
}

// name returns the name of the level, on both sides if the names differ.
func (p *LevelPair) name() string { return levelpair.Name(p.Old.Name(), p.New.Name()) }

// A Row is a figure of both sides.
type Row struct{ Old, New *Figure }

// Change returns (new − old) / old. It is NaN if a side has no number, or old is 0.
func (r *Row) Change() float64 {
	if r.Old.Value == 0 {
		return math.NaN()
	}
	return (r.New.Value - r.Old.Value) / r.Old.Value
}

// Compare sets the figures of two results side by side: of levels with the same load or, if each result has one level, of the two. Levels
// that by pairs by their order or kind may have other loads. The error says that the results state nothing that can be compared.
func Compare(older, newer *Result, by levelpair.By) (*Comparison, error) {
	if older.Definitions != newer.Definitions {
		return nil, fmt.Errorf("%s states figures by the definitions of %s, %s by the definitions of %s, which differ even where the names are alike; compare results of one tool, or recordings with requests",
			older.File, older.Definitions, newer.File, newer.Definitions)
	}
	c := &Comparison{Old: older, New: newer, by: by}
	for _, what := range [...][3]string{{"models", older.Model, newer.Model}, {"releases of the tool", older.Release, newer.Release}} {
		if what[1] != what[2] && what[1] != "" && what[2] != "" {
			c.Lost = append(c.Lost, fmt.Sprintf("the %s differ: %s in %s, %s in %s", what[0], what[1], older.File, what[2], newer.File))
		}
	}
	olderPlaces, places := older.places(by), newer.places(by)
	taken := make([]bool, len(newer.Levels))
	for i := range older.Levels {
		l := &older.Levels[i]
		at := -1
		for j := range newer.Levels {
			m := &newer.Levels[j]
			alike := l.Mode == m.Mode && l.Value == m.Value && l.Mode != ""
			if !taken[j] && (alike || len(older.Levels) == 1 && len(newer.Levels) == 1) {
				at = j
				break
			}
		}
		if by != levelpair.Load {
			at = slices.Index(places, olderPlaces[i])
		}
		if at < 0 {
			c.Lost = append(c.Lost, fmt.Sprintf("%s is only in %s", nameOf(l, i), older.File))
			continue
		}
		taken[at] = true
		m := &newer.Levels[at]
		if l.Name() != m.Name() {
			c.Lost = append(c.Lost, fmt.Sprintf("the loads differ: %s in %s, %s in %s", nameOf(l, i), older.File, nameOf(m, at), newer.File))
		}
		c.pair(l, m)
	}
	for j := range newer.Levels {
		if !taken[j] {
			c.Lost = append(c.Lost, fmt.Sprintf("%s is only in %s", nameOf(&newer.Levels[j], j), newer.File))
		}
	}
	if len(c.Levels) == 0 {
		return nil, fmt.Errorf("%s and %s have no load level in common: %s", older.File, newer.File, strings.Join(c.Lost, "; "))
	}
	return c, nil
}

// A levelPlace is the key of a level and how many levels of this key come before it.
type levelPlace struct {
	key string
	nth int
}

// places returns the place of each level.
func (r *Result) places(by levelpair.By) []levelPlace {
	all := make([]levelPlace, len(r.Levels))
	before := map[string]int{}
	for i := range r.Levels {
		key := by.Key(r.Levels[i].Mode, r.Levels[i].Name())
		all[i] = levelPlace{key, before[key]}
		before[key]++
	}
	return all
}

// pairing says how the levels were paired, if not by their loads; else "".
func (c *Comparison) pairing() string {
	n := 0
	for i := range c.Levels {
		if p := &c.Levels[i]; p.Old.Name() != p.New.Name() {
			n++
		}
	}
	return c.by.Line(n, len(c.Levels))
}

// nameOf names level i in a message.
func nameOf(l *Level, i int) string {
	if name := l.Name(); name != "" {
		return name
	}
	return fmt.Sprintf("level %d (load not stated)", i+1)
}

// pair sets the figures of two levels side by side, in the order of the old one.
func (c *Comparison) pair(older, newer *Level) {
	p := LevelPair{Old: older, New: newer}
	for i := range older.Figures {
		f := &older.Figures[i]
		for j := range newer.Figures {
			if f.same(&newer.Figures[j]) {
				p.Rows = append(p.Rows, Row{f, &newer.Figures[j]})
				break
			}
		}
	}
	for _, side := range []struct {
		r *Result
		n int
	}{{c.Old, len(older.Figures) - len(p.Rows)}, {c.New, len(newer.Figures) - len(p.Rows)}} {
		if side.n > 0 {
			c.Lost = append(c.Lost, fmt.Sprintf("%s of %s only in %s", plural.Of(side.n, "figure"), nameOf(older, 0), side.r.File))
		}
	}
	c.Levels = append(c.Levels, p)
}

// Formats returns the comparison in each format.
func (c *Comparison) Formats() *sheet.Formats {
	return &sheet.Formats{
		Sheets:  sheet.One(c.sheet),
		JSON:    c.json,
		Columns: []string{"level", "metric", "statistic", "unit", "old", "new", "change"},
		CSV:     c.csv,
	}
}

func (c *Comparison) sheet() *sheet.Sheet {
	s := &sheet.Sheet{
		Heads:   []string{NoInterval},
		About:   []string{"old " + c.Old.File + " · " + c.Old.about(), "new " + c.New.File + " · " + c.New.about()},
		Notes:   c.Lost,
		Bullets: true,
	}
	if line := c.pairing(); line != "" {
		s.Heads = append(s.Heads, line)
	}
	for i := range c.Levels {
		p := &c.Levels[i]
		t := sheet.Table{Rows: [][]string{{"", "old", "new", "change"}}}
		for j := range p.Rows {
			r := &p.Rows[j]
			name := strings.TrimSpace(r.Old.Metric + " " + r.Old.Statistic)
			if r.Old.Unit != "" {
				name += " (" + r.Old.Unit + ")"
			}
			change := ""
			if v := r.Change(); !math.IsNaN(v) {
				change = sheet.Change(v)
			}
			t.Rows = append(t.Rows, []string{name, r.Old.Text, r.New.Text, change})
		}
		s.Part(p.name()).Table(t)
	}
	return s
}

func (c *Comparison) json() sheet.Object {
	return sheet.Object{
		"schema", CompareSchema, "verdict", "none", "why", NoInterval, "definitions", c.Old.Definitions, "old", c.Old.File, "new", c.New.File,
		"levels", sheet.List(c.Levels, func(p *LevelPair) sheet.Object {
			return sheet.Object{"level", p.name(), "figures", sheet.List(p.Rows, func(r *Row) sheet.Object {
				return sheet.Object{
					"metric", r.Old.Metric, "statistic", sheet.Opt(r.Old.Statistic), "unit", sheet.Opt(r.Old.Unit),
					"old", r.Old.Value, "new", r.New.Value, "change", r.Change(),
				}
			})}
		}),
		"paired_by", sheet.Opt(string(c.by)), "notes", sheet.Opt(c.Lost),
	}
}

func (c *Comparison) csv() (lines []sheet.CSVRow) {
	for i := range c.Levels {
		p := &c.Levels[i]
		for j := range p.Rows {
			r := &p.Rows[j]
			lines = append(lines, sheet.CSVRow{
				"level": p.name(), "metric": r.Old.Metric, "statistic": r.Old.Statistic, "unit": r.Old.Unit,
				"old": r.Old.csv(), "new": r.New.csv(), "change": sheet.CSVNumber(r.Change()),
			})
		}
	}
	return lines
}
