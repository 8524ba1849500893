package stated

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

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

// name returns the name of the pair: of both levels if their loads differ.
func (p *LevelPair) name() string {
	if p.Old.sameLoad(p.New) {
		return p.Old.Name()
	}
	return levelpair.Name(p.Old.Name(), p.New.Name())
}

// A Row is a figure of both sides.
type Row struct{ Old, New *Figure }

// change returns (new − old) / old. It is NaN if a side has no number, or old is 0.
func (r *Row) change() float64 {
	if r.Old.Value == 0 {
		return math.NaN()
	}
	return (r.New.Value - r.Old.Value) / r.Old.Value
}

// Compare sets the figures of two results side by side: of levels with the same load or, if each result has one level, of the two. Levels
// that by pairs by their order or kind may have other loads. The error says that the results state nothing that can be compared.
func Compare(older, newer *Result, by levelpair.By) (*Comparison, error) {
	if err := OneTool([]*Result{older, newer}); err != nil {
		return nil, err
	}
	c := &Comparison{Old: older, New: newer, by: by, Lost: differences(older, newer)}
	taken := make([]bool, len(newer.Levels))
	find, olderPlaces, places := newer.finder(), older.places(by), newer.places(by)
	for i := range older.Levels {
		l := &older.Levels[i]
		at := 0
		switch {
		case by != levelpair.Load:
			at = slices.Index(places, olderPlaces[i])
		case len(older.Levels) > 1 || len(newer.Levels) > 1:
			at = find(l, taken)
		}
		if at < 0 {
			c.Lost = append(c.Lost, fmt.Sprintf("%s is only in %s", nameOf(l, i), older.File))
			continue
		}
		taken[at] = true
		m := &newer.Levels[at]
		if !l.sameLoad(m) {
			c.Lost = append(c.Lost, fmt.Sprintf("the loads differ: %s in %s, %s in %s", nameOf(l, i), older.File, nameOf(m, at), newer.File))
		}
		if differ := settingsDiffer(older, newer, l, m); differ != "" {
			c.Lost = append(c.Lost, differ)
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

// OneTool returns an error if results have figures of several tools.
func OneTool(all []*Result) error {
	for _, r := range all {
		if first := all[0]; r.Definitions != first.Definitions {
			return fmt.Errorf("%s states figures by the definitions of %s, %s by the definitions of %s, which differ even where the names are alike; compare results of one tool, or recordings with requests",
				first.File, first.Definitions, r.File, r.Definitions)
		}
	}
	return nil
}

// differences names what the results of two files are of, if that differs.
func differences(older, newer *Result) (all []string) {
	for _, what := range [...][3]string{{"models", older.Model, newer.Model}, {"releases of the tool", older.Release, newer.Release}} {
		if what[1] != what[2] && what[1] != "" && what[2] != "" {
			all = append(all, fmt.Sprintf("the %s differ: %s in %s, %s in %s", what[0], what[1], older.File, what[2], newer.File))
		}
	}
	return all
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
		if p := &c.Levels[i]; !p.Old.sameLoad(p.New) {
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

// sameLoad reports whether the loads of two levels are the same, or both unknown.
func (l *Level) sameLoad(m *Level) bool { return l.load() == m.load() }

// load returns the mode and the value of a load. Values that are the same number are equal: tools write 10 and 10.0.
func (l *Level) load() [2]string {
	if n, err := strconv.ParseFloat(l.Value, 64); err == nil {
		return [2]string{l.Mode, strconv.FormatFloat(n, 'g', -1, 64)}
	}
	return [2]string{l.Mode, l.Value}
}

// alike reports whether two levels have the same load and, as far as both files state them, the same settings that tell levels apart.
func (l *Level) alike(m *Level) bool {
	if !l.sameLoad(m) || l.Mode == "" && l.Apart == nil {
		return false
	}
	for _, s := range slices.Concat(l.Apart, m.Apart) {
		a, okA := l.setting(s.Name)
		b, okB := m.setting(s.Name)
		if okA && okB && a != b || l.Mode == "" && okA != okB {
			return false
		}
	}
	return true
}

// finder returns a function that finds the first level that is alike and not taken; −1 for none.
func (r *Result) finder() func(l *Level, taken []bool) int {
	of := map[[2]string][]int{} // by load
	for j := range r.Levels {
		load := r.Levels[j].load()
		of[load] = append(of[load], j)
	}
	return func(l *Level, taken []bool) int {
		for _, j := range of[l.load()] {
			if !taken[j] && l.alike(&r.Levels[j]) {
				return j
			}
		}
		return -1
	}
}

// mostSettings is how many settings that differ a message lists.
const mostSettings = 8

// settingsDiffer names the settings that differ between a level of older and a level of newer; "" for none.
func settingsDiffer(older, newer *Result, l, m *Level) string {
	var differ []string
	for _, s := range l.Settings {
		v, ok := m.setting(s.Name)
		if !ok || v == s.Value || s.Value == older.Model && v == newer.Model {
			continue
		}
		differ = append(differ, fmt.Sprintf("%s %s and %s", s.Name, s.Value, v))
	}
	if n := len(differ); n > mostSettings {
		differ = append(differ[:mostSettings], plural.Of(n-mostSettings, "other"))
	}
	if differ == nil {
		return ""
	}
	return fmt.Sprintf("settings of %s differ between %s and %s: %s", nameOf(l, 0), older.File, newer.File, strings.Join(differ, ", "))
}

// pair sets the figures of two levels side by side, in the order of the old one.
func (c *Comparison) pair(older, newer *Level) {
	p := LevelPair{Old: older, New: newer}
	of := newer.index()
	for i := range older.Figures {
		f := &older.Figures[i]
		if g := of[f.key()]; g != nil {
			p.Rows = append(p.Rows, Row{f, g})
			delete(of, f.key())
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
			change := ""
			if v := r.change(); !math.IsNaN(v) {
				change = sheet.Change(v)
			}
			t.Rows = append(t.Rows, []string{r.Old.title(), r.Old.Text, r.New.Text, change})
		}
		s.Part(p.name()).Table(t)
	}
	return s
}

func (c *Comparison) json() sheet.Object {
	return sheet.Object{
		"schema", "pa-stated-diff/1", "verdict", "none", "why", NoInterval, "definitions", c.Old.Definitions, "old", c.Old.File, "new", c.New.File,
		"levels", sheet.List(c.Levels, func(p *LevelPair) sheet.Object {
			return sheet.Object{"level", p.name(), "figures", sheet.List(p.Rows, func(r *Row) sheet.Object {
				return sheet.Object{
					"metric", r.Old.Metric, "statistic", sheet.Opt(r.Old.Statistic), "unit", sheet.Opt(r.Old.Unit),
					"old", r.Old.Value, "new", r.New.Value, "change", r.change(),
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
				"old": r.Old.csv(), "new": r.New.csv(), "change": sheet.CSVNumber(r.change()),
			})
		}
	}
	return lines
}
