package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// A status is the outcome of a verdict.
type status string

const (
	passes  status = "pass"
	fails   status = "fail"
	unknown status = "na"
)

// A verdict is a card of the strip at the top of the page.
type verdict struct {
	Key      string // "slo", "client", "steady", "clock", "failures"
	Question string
	Status   status
	Symbol   string // says the same as the color
	Answer   string
	Text     string
	// Levels has a line for each level, if there are several.
	Levels []string
}

// symbols of the outcomes.
var symbols = map[status]string{passes: "✓", fails: "✗", unknown: "–"}

// A levelVerdict is a verdict on one level of one run.
type levelVerdict struct {
	where  string
	status status
	text   string
}

// questions are the cards, in their order. answers are the words for pass, fail and n/a.
var questions = []struct {
	key, question string
	answers       map[status]string
}{
	{"slo", "SLO met?", map[status]string{passes: "yes", fails: "no"}},
	{"client", "Client kept up?", map[status]string{passes: "yes", fails: "no"}},
	{"steady", "Steady?", map[status]string{passes: "yes", fails: "no"}},
	{"clock", "Clock error", map[status]string{passes: "small", fails: "too large"}},
	{"failures", "Failures", map[status]string{passes: "few or none", fails: "too many"}},
}

// checks are the names of the items of package check that decide a card.
var checks = map[string]string{"client": "client", "steady": "steady state", "clock": "clock", "failures": "failures"}

// verdicts returns the strip for all levels of all runs.
func verdicts(runs []Run) []verdict {
	levels := make([][]levelVerdict, len(questions))
	profile := check.Default()
	for r := range runs {
		rep := runs[r].Report
		for i := range rep.Experiments {
			e := &rep.Experiments[i]
			where := plain(report.LevelName(e))
			if len(runs) > 1 {
				where = runs[r].short + ", " + where
			}
			items := check.OfReport(rep, e, profile)
			for k, q := range questions {
				v := levelVerdict{where: where}
				if q.key == "slo" {
					v.status, v.text = objective(e, rep.SLOTarget)
				} else {
					v.status, v.text = checked(e, items, checks[q.key])
				}
				levels[k] = append(levels[k], v)
			}
		}
	}
	var all []verdict
	for k, q := range questions {
		v := together(levels[k])
		v.Key, v.Question, v.Symbol = q.key, q.question, symbols[v.Status]
		v.Answer = q.answers[v.Status]
		if v.Status == unknown {
			v.Answer = "n/a"
		}
		all = append(all, v)
	}
	return all
}

// objective judges a level by its share of requests that met the SLO.
func objective(e *analyze.Experiment, target float64) (status, string) {
	x := e.SLO
	switch {
	case x == nil:
		return unknown, "no objective was given; --slo gives one"
	case !x.Share.OK:
		return unknown, x.Share.NA
	}
	text := fmt.Sprintf("%s of the requests met %s; the target is %s", percent(x.Share.V), plain(x.SLO.String()), percent(target))
	if x.Share.V < target {
		return fails, text
	}
	return passes, text
}

// percent writes a share from 0 to 1 for people.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'g', 4, 64) + " %" }

// checked returns the outcome of an item of the checklist of a level.
func checked(e *analyze.Experiment, items []check.Item, item string) (status, string) {
	if e.Problem != nil {
		return unknown, plain(e.Problem.Error())
	}
	for _, x := range items {
		if x.Name == item {
			return map[check.Status]status{check.Pass: passes, check.Fail: fails, check.NA: unknown}[x.Status], plain(x.Text)
		}
	}
	return unknown, "not checked"
}

// together joins the verdicts on levels: one failure is a failure, and all must be unknown to be
// unknown.
func together(levels []levelVerdict) verdict {
	if len(levels) == 0 {
		return verdict{Status: unknown, Text: "nothing was measured"}
	}
	count := map[status]int{}
	worst := levels[0]
	rank := map[status]int{fails: 2, passes: 1, unknown: 0}
	for _, l := range levels {
		count[l.status]++
		if rank[l.status] > rank[worst.status] {
			worst = l
		}
	}
	v := verdict{Status: worst.status, Text: worst.text}
	if len(levels) == 1 {
		return v
	}
	words := map[status]string{fails: "✗", passes: "✓", unknown: "n/a"}
	same := true
	for _, l := range levels {
		same = same && l.text == levels[0].text
		v.Levels = append(v.Levels, words[l.status]+" "+l.where+": "+l.text)
	}
	if same {
		v.Levels = nil
		return v
	}
	v.Text = worst.where + ": " + worst.text
	switch {
	case count[fails] > 0:
		v.Text = fmt.Sprintf("not at %s of %d; %s", plural.Of(count[fails], "level"), len(levels), v.Text)
	case count[passes] == 0:
	case count[unknown] == 0:
		v.Text = "at " + plural.All(len(levels)) + " levels"
	default:
		v.Text = fmt.Sprintf("at %s of %d, n/a at the others", plural.Of(count[passes], "level"), len(levels))
	}
	return v
}

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
	stalls := plural.GroupedOf(p.stalls, "stall")
	if p.leftOut {
		stalls += " of the requests in the waterfall"
	}
	if p.stalls > len(p.Stalls) {
		p.StallNote = fmt.Sprintf("The %d longest of %s.", len(p.Stalls), stalls)
	}
}
