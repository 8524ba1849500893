package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// problems are the tables of failures and stalls, whose rows lead into the waterfall.
type problems struct {
	Errors    []errorRow
	Stalls    []stallRow // set by finish
	StallNote string

	worst   []problemStall
	stalls  int  // in all
	leftOut bool // some requests are not in the waterfall
}

// An errorRow is a class of failures at a level.
type errorRow struct {
	Run, Level int
	Where      string
	Class      string
	Count      string
	Message    string
	First      string // id of the first request of the class; "" if none is in the waterfall
}

// A stallRow is a stall.
type stallRow struct {
	Run, Level int
	Where      string
	ID         string
	Linked     bool // the request is in the waterfall
	Length, At string
	LengthNS   int64
	Position   int
}

// A problemStall is a stall that may become a row of the table.
type problemStall struct {
	run, level int
	where      string
	id         uint64
	linked     bool
	view.Stall
}

// mostStalls is the number of rows of the table of stalls.
const mostStalls = 25

// add adds the failures and stalls of a level, which is named where. linked says that its
// requests are in the waterfall.
func (p *problems) add(v *view.Level, run, level int, where string, linked bool) {
	for _, c := range v.Experiment.Failed {
		row := errorRow{Run: run, Level: level, Where: where, Class: plain(c.Name), Count: plural.Grouped(c.N)}
		for i := range v.Requests {
			if q := v.Requests[i]; classOf(q) == c.Name {
				row.Message = plain(q.Error)
				if linked {
					row.First = strconv.FormatUint(q.ID, 10)
				}
				break
			}
		}
		p.Errors = append(p.Errors, row)
	}
	p.leftOut = p.leftOut || v.LeftOut > 0
	for i := range v.Requests {
		q := v.Requests[i]
		p.stalls += len(q.Stalls) + q.StallsLeftOut
		for _, s := range q.Stalls {
			p.worst = append(p.worst, problemStall{run, level, where, q.ID, linked, s})
		}
	}
	slices.SortStableFunc(p.worst, func(a, b problemStall) int { return cmp.Compare(b.LengthNS, a.LengthNS) })
	p.worst = p.worst[:min(len(p.worst), mostStalls)]
}

// finish makes the table of stalls and says how many there are.
func (p *problems) finish() {
	for _, s := range p.worst {
		p.Stalls = append(p.Stalls, stallRow{
			Run: s.run, Level: s.level, Where: s.where, ID: strconv.FormatUint(s.id, 10), Linked: s.linked,
			Length: report.Span(float64(s.LengthNS)), LengthNS: s.LengthNS, At: report.Span(float64(s.AtNS)), Position: s.Position,
		})
	}
	of := plural.GroupedOf(p.stalls, "stall")
	if p.leftOut {
		of += " of the requests in the waterfall"
	}
	if p.stalls > len(p.Stalls) {
		p.StallNote = fmt.Sprintf("The %d longest of %s.", len(p.Stalls), of)
	}
}
