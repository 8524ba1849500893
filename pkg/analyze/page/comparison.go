package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/diff"
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

// numbersOf are the keys of JSON of the columns of a [diff.SheetLevel].
var numbersOf = []string{1: "old", 2: "new", 3: "change"}

// newComparison collects what the page shows of a comparison.
func newComparison(r *diff.Result) (*comparison, error) {
	object, err := members(diff.JSON(r))
	if err != nil {
		return nil, err
	}
	s := r.Sheet()
	c := &comparison{Headline: s.Headline, LeftOut: s.LeftOut, Title: plain(s.Title), Measured: s.Measured, Differences: s.Differences.Rows, Lines: s.Lines, Notes: s.Notes}
	if left := len(s.Levels) - mostDetailed; left > 0 {
		c.Lines = append(c.Lines, fmt.Sprintf("The tables of the first %d levels are shown; pa-analyze diff shows %s.", mostDetailed, plural.GroupedOf(left, "further level")))
		s.Levels = s.Levels[:mostDetailed]
	}
	if s.Together != nil {
		c.Levels = append(c.Levels, comparedLevelOf(s.Together, object, "together"))
	}
	for i := range s.Levels {
		c.Levels = append(c.Levels, comparedLevelOf(&s.Levels[i], object, "levels", strconv.Itoa(i)))
	}
	return c, nil
}

// comparedLevelOf returns what the page shows of a level, whose JSON is at path in object.
func comparedLevelOf(l *diff.SheetLevel, object any, path ...string) comparedLevel {
	x := comparedLevel{Title: l.Title, Parts: l.Parts, Server: l.Server.Rows}
	at := path[0]
	for _, index := range path[1:] {
		at += "[" + index + "]"
	}
	for j, row := range l.Metrics.Rows {
		if j == 0 {
			x.Head = row
			continue
		}
		var cells []comparedCell
		for k, text := range row {
			cell := comparedCell{Text: text}
			if k < len(numbersOf) && numbersOf[k] != "" {
				metric := strconv.Itoa(j - 1)
				if n, ok := get(object, append(slices.Clone(path), "metrics", metric, numbersOf[k])...).(json.Number); ok {
					cell.Path, cell.Value = at+".metrics["+metric+"]."+numbersOf[k], n.String()
				}
			}
			cells = append(cells, cell)
		}
		x.Rows = append(x.Rows, cells)
	}
	return x
}
