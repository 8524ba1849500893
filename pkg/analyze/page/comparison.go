package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A comparison is the part of a page about two sides.
type comparison struct {
	Headline, LeftOut, Title, Measured string
	Differences                        [][]string
	Levels                             []comparedLevel
	Lines, Notes                       []string
}

type comparedLevel struct {
	Title string
	Parts []string
	Head  []string
	Rows  [][]comparedCell
	// Server has the figures of servers and GPUs, with a head.
	Server [][]string
}

// A comparedCell is a text, and the number behind it if there is one. Path and Value are the place of
// the number in the JSON of package diff, and its text there.
type comparedCell struct{ Text, Path, Value string }

// numbersOf are the keys of JSON of the columns of the first table of a level in [diff.Result.Sheet].
var numbersOf = []string{1: "old", 2: "new", 3: "change"}

// newComparison collects what the page shows of a comparison.
func newComparison(r *diff.Result) (*comparison, error) {
	object, err := members(sheet.JSON(r.JSON()))
	if err != nil {
		return nil, err
	}
	s := r.Sheet(false)
	sides, levels := s.Parts[0].Blocks, s.Parts[2:]
	c := &comparison{Headline: s.Title, LeftOut: strings.Join(s.About, ""), Title: plain(sides[0].Text)}
	var measured []string
	for _, b := range sides[1:] {
		measured = append(measured, sanitize.Text(b.Text))
	}
	c.Measured = strings.Join(measured, "; ")
	for _, b := range s.Parts[1].Blocks {
		c.Differences = b.Table.Rows
	}
	for _, text := range s.Notes {
		c.Lines = append(c.Lines, sanitize.Text(text))
	}
	for _, b := range s.Details.Blocks {
		if b.Text != "" {
			c.Notes = append(c.Notes, sanitize.Text(b.Text))
		}
	}
	if r.Together != nil {
		c.Levels = append(c.Levels, comparedLevelOf(levels[0], object, "together"))
		levels = levels[1:]
	}
	if left := len(levels) - mostDetailed; left > 0 {
		c.Lines = append(c.Lines, fmt.Sprintf("The tables of the first %d levels are shown; pa-analyze diff shows %s.", mostDetailed, plural.GroupedOf(left, "further level")))
		levels = levels[:mostDetailed]
	}
	for i, l := range levels {
		c.Levels = append(c.Levels, comparedLevelOf(l, object, "levels", strconv.Itoa(i)))
	}
	return c, nil
}

// comparedLevelOf returns what the page shows of a level, whose JSON is at path in object.
func comparedLevelOf(l *sheet.Part, object any, path ...string) comparedLevel {
	x := comparedLevel{Title: l.Title}
	at := path[0]
	for _, index := range path[1:] {
		at += "[" + index + "]"
	}
	for _, b := range l.Blocks {
		switch {
		case b.Table == nil:
			x.Parts = append(x.Parts, sanitize.Text(b.Text))
		case x.Head != nil:
			x.Server = b.Table.Rows
		default:
			x.metrics(b.Table.Rows, object, at, path)
		}
	}
	return x
}

// metrics adds the table of metrics.
func (x *comparedLevel) metrics(rows [][]string, object any, at string, path []string) {
	x.Head = rows[0]
	for j, row := range rows[1:] {
		var cells []comparedCell
		for k, text := range row {
			cell := comparedCell{Text: text}
			if k < len(numbersOf) && numbersOf[k] != "" {
				metric := strconv.Itoa(j)
				if n, ok := get(object, append(slices.Clone(path), "metrics", metric, numbersOf[k])...).(json.Number); ok {
					cell.Path, cell.Value = at+".metrics["+metric+"]."+numbersOf[k], n.String()
				}
			}
			cells = append(cells, cell)
		}
		x.Rows = append(x.Rows, cells)
	}
}
