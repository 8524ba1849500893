package rig

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// Formats returns the forms of the plan: text, Markdown, and JSON in the layout of schemas/plan.schema.json.
func (res *Plan) Formats() *sheet.Formats {
	return &sheet.Formats{Sheets: sheet.One(res.sheet), JSON: res.json}
}

// sheet returns the plan for people.
func (res *Plan) sheet() *sheet.Sheet {
	s := &sheet.Sheet{Heads: res.Headlines(), Notes: res.notes()}
	if res.NoCommand != "" {
		s.About = append(s.About, "No command, because "+res.NoCommand+".")
	} else {
		s.Command = sheet.Command{Before: res.Command.recording(), Line: res.Command.Line}
	}
	s.About = append(s.About, fmt.Sprintf("planned from %s, %s", res.Set.Named(), res.Set.Runs[0].Measured()))
	s.Part("").Table(res.Set.DifferenceTable())
	for _, l := range res.Levels {
		if len(l.Rows) > 0 {
			s.Part(l.title()).Table(l.table(res))
		}
	}
	return s
}

// title returns "concurrency 2, 5 runs of 60 requests".
func (l *LevelPlan) title() string {
	return fmt.Sprintf("%s, %s of %s", l.Name, plural.Of(len(l.Levels), "run"), plural.GroupedOf(l.Requests, "request"))
}

// table returns the table of a level.
func (l *LevelPlan) table(res *Plan) sheet.Table {
	reasons := ""
	for _, r := range l.Rows {
		reasons += r.NA
	}
	var head []string
	single := len(l.Levels) < MinRuns
	if single {
		head = []string{"", "within", "requests"}
	} else {
		head = []string{"", "deviation", "within", "to find " + res.change(), "to exclude it"}
	}
	if reasons != "" {
		head = append(head, "why n/a")
	}
	t := sheet.Table{Rows: [][]string{head}, Left: []string{"why n/a"}}
	for _, r := range l.Rows {
		row := []string{r.Metric.Name, sheet.Percent(r.Deviation), sheet.Percent(r.Within), plannedRuns(r.Find), plannedRuns(r.Exclude)}
		if single {
			row = []string{r.Metric.Name, sheet.Percent(r.Within), plannedRequests(r.SingleRequests)}
		}
		if reasons != "" {
			row = append(row, r.NA)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// plannedRuns writes a number of runs for a table.
func plannedRuns(k int) string {
	switch {
	case k == 0:
		return "–"
	case k > MaxRunsASide:
		return "> " + plural.Grouped(MaxRunsASide)
	}
	return strconv.Itoa(k)
}

// plannedRequests writes a number of requests for a table.
func plannedRequests(n float64) string {
	if n == 0 {
		return "–"
	}
	return plural.Grouped(int64(tidy(n)))
}

// Headlines returns a sentence for each level: how many runs a side find the change, and how many show that there is
// none. If there are several levels, each sentence begins with the level.
func (res *Plan) Headlines() []string {
	var lines []string
	for _, l := range res.Levels {
		lines = append(lines, ofLevel(res.Set, l.Group, ": ", res.headline(l)))
	}
	return lines
}

func (res *Plan) headline(l *LevelPlan) string {
	change, often := res.change(), sheet.ShareInSentence(res.Options.Power)+" of the time"
	switch {
	case l.Find > 0:
		return fmt.Sprintf("to find a change of %s in %s %s: %s; to show that there is none: %s", change, l.planned(), often, res.side(l.Find, l), res.side(l.Exclude, l))
	case l.SingleRequests > 0:
		return fmt.Sprintf("cannot tell how many runs are enough: %s; if runs did not differ, one run a side of about %s would find a change of %s in %s, %s", l.NA, plural.GroupedOf(int64(tidy(l.SingleRequests)), "request"), change, l.planned(), often)
	}
	return "cannot tell how many runs are enough: " + l.NA
}

// planned names the metrics of the plan: "TTFT p50, TPOT p50 or E2EL p50".
func (l *LevelPlan) planned() string {
	var names []string
	for _, r := range l.Rows {
		if r.NA == "" {
			names = append(names, r.Metric.Name)
		}
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// side returns "3 runs a side of 60 requests, 2.3 minutes in all".
func (res *Plan) side(k int, l *LevelPlan) string {
	if k > MaxRunsASide {
		return "more than " + plural.GroupedOf(MaxRunsASide, "run") + " a side"
	}
	text := fmt.Sprintf("%s a side of %s", plural.GroupedOf(k, "run"), plural.GroupedOf(l.Requests, "request"))
	if seconds := res.seconds(k); !math.IsNaN(seconds) {
		text += ", " + duration(seconds) + " in all"
	}
	return text
}

// change writes the change for a sentence: "5 %".
func (res *Plan) change() string {
	return strconv.FormatFloat(100*res.Options.Change, 'g', 4, 64) + " %"
}

// duration writes seconds for people, with two digits.
func duration(seconds float64) string {
	amount, unit := seconds, "second"
	switch {
	case seconds >= 5400:
		amount, unit = seconds/3600, "hour"
	case seconds >= 90:
		amount, unit = seconds/60, "minute"
	}
	text := strconv.FormatFloat(amount, 'f', 1, 64)
	if amount >= 9.95 {
		text = plural.Grouped(int64(math.Round(amount)))
	}
	return strings.TrimSuffix(text, ".0") + " " + unit + map[bool]string{true: "", false: "s"}[text == "1.0"]
}

// tidy rounds a number of requests up to two digits, which is more than it is known to, and bounds it.
func tidy(n float64) float64 {
	n = math.Min(n, 1e15)
	step := math.Pow(10, math.Max(0, math.Floor(math.Log10(n))-1))
	return math.Ceil(n/step) * step
}

// recording returns the sentence that precedes the command, without its colon.
func (c *Command) recording() string {
	switch {
	case c.Pilot:
		return fmt.Sprintf("Record %s to learn how much runs differ, and plan with pa-analyze plan %s", plural.Of(c.Runs, "run"), sanitize.Text(c.Files))
	case c.AllSides:
		return fmt.Sprintf("Record %s of each side", plural.Of(c.Runs, "run"))
	}
	return fmt.Sprintf("Record %s of each side, each side with a --profile-export-file of its own", plural.Of(c.Runs, "run"))
}

// costly names the metric that needs the most runs if the others need at most half as many; else it returns "".
func (l *LevelPlan) costly() string {
	var most *PlanRow
	second := 0
	for _, r := range l.Rows {
		switch {
		case r.Find == 0:
		case most == nil:
			most = r
		case r.Find > most.Find:
			most, second = r, most.Find
		default:
			second = max(second, r.Find)
		}
	}
	if second == 0 || 2*second > most.Find {
		return ""
	}
	return fmt.Sprintf("%s needs the most runs; for a change in the other metrics, %s a side are enough.", most.Metric.Name, plural.GroupedOf(second, "run"))
}

// notes returns the sentences below the tables.
func (res *Plan) notes() []string {
	var notes []string
	if res.Command.Hidden {
		notes = append(notes, "The recording hid credentials: replace "+hidden+" by yours.")
	}
	for _, l := range res.Levels {
		if text := l.costly(); text != "" {
			notes = append(notes, ofLevel(res.Set, l.Group, ": ", text))
		}
	}
	several, single := false, false
	var longer, not []string
	for _, l := range res.Levels {
		for _, r := range l.Rows {
			several, single = several || r.Find > 0, single || r.SingleRequests > 0
			name := ofLevel(res.Set, l.Group, " ", r.Metric.Name)
			switch share := r.Within * r.Within / (r.Deviation * r.Deviation); {
			case share >= 0.5:
				longer = append(longer, name)
			case share < 0.25:
				not = append(not, name)
			}
		}
	}
	if len(longer) > 0 {
		notes = append(notes, "Runs of more requests would deviate less, so that fewer of them are needed: "+strings.Join(longer, ", ")+".")
	}
	if len(not) > 0 {
		notes = append(notes, "Runs of more requests would hardly deviate less: "+strings.Join(not, ", ")+".")
	}
	if several {
		notes = append(notes, "deviation: from run to run. within: an upper estimate of its part that comes from the number of requests of a run. to find, to exclude: runs a side, for this metric. To exclude a change, all metrics must be shown to change by less, which takes more runs than each alone. The numbers allow for the uncertainty of a deviation from so few runs.")
	}
	if single {
		notes = append(notes, "within: how much a run may be off because of its number of requests (standard error). requests: of one run a side, for this metric.")
	}
	return notes
}

func (res *Plan) json() sheet.Object {
	var command sheet.Object
	if c := &res.Command; c.Line != "" {
		command = sheet.Object{"line", c.Line, "runs", c.Runs, "all_sides", c.AllSides, "files", c.Files, "pilot", c.Pilot, "hidden_credentials", c.Hidden}
	}
	return sheet.Object{
		"schema", "pa-plan/1", "change", res.Options.Change, "power", res.Options.Power, "alpha", alpha,
		"measured", res.Set.Runs[0].Measured(), "headlines", res.Headlines(), "run_seconds", res.RunSeconds, "command", command, "no_command", sheet.Opt(res.NoCommand),
		"runs", diff.JSONRuns(res.Set.Runs), "comparable", len(res.Set.Refused()) == 0, "differences", res.Set.JSONDifferences(),
		"levels", sheet.ListOf(res.Levels, func(l *LevelPlan) sheet.Object {
			return append(l.JSON(),
				"requests_a_run", l.Requests, "find", res.sides(l.Find, l), "exclude", res.sides(l.Exclude, l),
				"single_run_requests", count(l.SingleRequests), // rounded like the text
				"na", sheet.Opt(l.NA), "metrics", sheet.ListOf(l.Rows, (*PlanRow).json))
		}),
		"warnings", res.Set.Warnings,
	}
}

func (r *PlanRow) json() sheet.Object {
	return sheet.Object{
		"metric", r.Metric.Key, "deviation", r.Deviation, "within", r.Within, "between", r.Between,
		"find_runs_a_side", known(r.Find), "exclude_runs_a_side", known(r.Exclude), "single_run_requests", count(r.SingleRequests), "na", sheet.Opt(r.NA),
	}
}

// known returns a number of runs a side; nil if it is not known or too large.
func known(k int) any {
	if k > MaxRunsASide {
		return nil
	}
	return sheet.Opt(k)
}

// sides returns a number of runs a side with its requests and time; nil if it is not known or too large.
func (res *Plan) sides(k int, l *LevelPlan) sheet.Object {
	if known(k) == nil {
		return nil
	}
	return sheet.Object{"runs_a_side", k, "requests", 2 * k * l.Requests, "seconds", res.seconds(k)}
}

// count returns a number of requests; nil for 0.
func count(n float64) any {
	if n == 0 {
		return nil
	}
	return tidy(n)
}
