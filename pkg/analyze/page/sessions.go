package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/export"
)

// A sessionTable has a row for each session of a level. A row opens its requests.
type sessionTable struct {
	Notes []string
	Head  []string
	Rows  []sessionRow
}

// A sessionRow is a session.
type sessionRow struct {
	ID     string
	Cells  []string
	Length string // of the session: the time axis of Lanes
	Lanes  []agentLane
	Note   string // which requests have no bar
}

// An agentLane shows the requests of an agent of a session over time, in a picture of laneWidth.
type agentLane struct {
	Agent  string // "" for the root
	Indent string // by the depth in the tree
	N      int
	Height int
	Line   bar // from the first send to the last end
	Turns  []turnBars
}

// turnBars are a request.
type turnBars struct {
	Title string
	Bars  []bar
}

// A bar is a part of a request.
type bar struct {
	Class     string
	X, Width  string
	Y, Height int
}

const (
	laneWidth  = 1000
	rowHeight  = 14 // of requests that do not overlap
	mostRows   = 8  // of an agent; requests beyond them overlap
	mostIndent = 8
	leastBar   = 1.5
)

// newSessionTable returns the table of the sessions of a level; nil without sessions. Times are in the unit u.
func newSessionTable(x *figure.Sessions, u report.TimeUnit) *sessionTable {
	if x == nil || len(x.Trees) == 0 {
		return nil
	}
	grid := report.SessionTreeTable(x, u)
	t := &sessionTable{Head: grid.Rows[0], Notes: []string{
		"Each row opens the requests of the session by agent: the high bar is the time to the first token, the low bar the answer, a framed bar a failure. On the line between bars, the agent waits for tools, users or sub-agents.",
	}}
	if n := x.Finished + x.Failed + x.Cut + x.Outside; n > len(x.Trees) {
		t.Notes = append(t.Notes, fmt.Sprintf("%s of %s are shown: the slowest ones and a sample of the others.", plural.Grouped(len(x.Trees)), plural.GroupedOf(n, "session")))
	}
	hidden := 0
	for i := range x.Trees {
		s := &x.Trees[i]
		row := grid.Rows[i+grid.Heads]
		r := sessionRow{ID: plain(s.ID), Cells: row[1:], Length: u.Span(float64(s.JobNS)), Lanes: lanesOf(s, u)}
		if s.LeftOut > 0 && len(r.Lanes) > 0 {
			r.Note = fmt.Sprintf("The first %s of %s are shown.", plural.Grouped(s.Turns-s.LeftOut), plural.GroupedOf(s.Turns, "request"))
		}
		if len(r.Lanes) == 0 {
			hidden++
		}
		t.Rows = append(t.Rows, r)
	}
	if hidden > 0 {
		t.Notes = append(t.Notes, plural.GroupedOf(hidden, "row")+" cannot be opened, because the page would be too large. The slowest sessions open.")
	}
	return t
}

// lanesOf returns the lanes of a session.
func lanesOf(s *figure.SessionTree, u report.TimeUnit) (lanes []agentLane) {
	scale := laneWidth / float64(max(s.JobNS, 1))
	at := func(ns uint64) float64 { return float64(int64(ns-s.Span.FromNS)) * scale }
	for i := range s.Agents {
		a := &s.Agents[i]
		l := agentLane{Agent: plain(a.ID), N: len(a.Requests), Indent: strings.Repeat("· ", min(max(a.Depth, 0), mostIndent))}
		var rows []uint64 // the latest end of each
		first, last := a.Requests[0].StartNS, uint64(0)
		for k := range a.Requests {
			q := &a.Requests[k]
			last = max(last, q.EndNS)
			row := 0
			for row < len(rows) && rows[row] > q.StartNS && row < mostRows-1 {
				row++
			}
			if row == len(rows) {
				rows = append(rows, 0)
			}
			rows[row] = max(rows[row], q.EndNS)
			l.Turns = append(l.Turns, barsOf(q, s.Span.FromNS, row*rowHeight, at, u))
		}
		l.Height = rowHeight * len(rows)
		l.Line = newBar("", at(first), at(last), 0, 0)
		lanes = append(lanes, l)
	}
	return lanes
}

// barsOf returns a request. at returns the place of a time.
func barsOf(q *figure.TurnTimes, origin uint64, y int, at func(uint64) float64, u report.TimeUnit) turnBars {
	words := []string{"turn " + strconv.Itoa(q.Turn), "sent at " + u.Span(float64(q.StartNS-origin))}
	if q.TTFT.OK {
		words = append(words, "TTFT "+u.Span(float64(q.TTFT.V)))
	}
	words = append(words, "took "+u.Span(float64(q.EndNS-q.StartNS)))
	for _, x := range [...]struct {
		name string
		v    export.Int
	}{{"input", q.Input}, {"cached", q.Cached}, {"possible", q.Possible}, {"output", q.Output}} {
		if x.v.OK {
			words = append(words, x.name+" "+plural.Grouped(x.v.V))
		}
	}
	if q.Failed {
		words = append(words, "failed")
	}
	t := turnBars{Title: strings.Join(words, ", ")}
	from, to := at(q.StartNS), at(q.EndNS)
	switch {
	case q.Failed:
		t.Bars = []bar{newBar("failure", from, to, y+1, rowHeight-2)}
	case q.TTFT.OK && q.TTFT.V >= 0 && uint64(q.TTFT.V) <= q.EndNS-q.StartNS:
		first := at(q.StartNS + uint64(q.TTFT.V))
		t.Bars = []bar{newBar("decode", first, to, y+4, rowHeight-8), newBar("ttft", from, first, y+1, rowHeight-2)}
	default:
		t.Bars = []bar{newBar("decode", from, to, y+4, rowHeight-8)}
	}
	return t
}

// newBar returns a bar that can be seen.
func newBar(class string, from, to float64, y, height int) bar {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	from = min(from, laneWidth-leastBar)
	return bar{Class: class, X: number(from), Width: number(max(to-from, leastBar)), Y: y, Height: height}
}
