package page

import (
	"fmt"
	"strconv"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/check"
	"github.com/pa-tools/pa/pkg/analyze/report"
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
		v.Text = "at all " + strconv.Itoa(len(levels)) + " levels"
	default:
		v.Text = fmt.Sprintf("at %s of %d, n/a at the others", plural.Of(count[passes], "level"), len(levels))
	}
	return v
}
