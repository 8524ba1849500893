package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
)

// A Difference is a difference in how the runs of the two sides were made, or a reason
// to doubt one of them.
type Difference struct {
	Name string // "model"
	// Level is the name of the load level; "" for all levels.
	Level    string
	Old, New string
	// Refuses is set if the numbers of the two sides have different meanings.
	Refuses bool
	// Ignored is set if the options ignore it.
	Ignored bool
}

// All in [Options.Ignore] means every name of a [Difference].
const All = "all"

const (
	load         = "load"
	inputTokens  = "input-tokens"
	outputTokens = "output-tokens"
	parameters   = "parameters"
	hiddenTokens = "hidden-tokens"
	promptCache  = "prompt-cache"

	// labelDifference is the name of the difference that one side has runs of several labels.
	labelDifference = "label"
	unknown         = "not recorded"
	noDoubt         = "no" // see check.doubt
)

// A check finds one kind of difference.
type check struct {
	name    string
	refuses bool
	// of describes a run at a level; runs differ if the texts differ. The output shows
	// "" as not recorded.
	of func(*Run, *Level) string
	// between compares the two sides if equal texts cannot decide.
	between func(older, newer []*Level) (o, n string, differ bool)
	// doubt returns a reason to doubt a run, which is reported for either side; "" for
	// none.
	doubt func(*Run, *Level) string
}

// checks holds all checks, in the order of reports.
var checks = [...]check{
	{name: "model", refuses: true, of: func(r *Run, _ *Level) string { return r.Model }},
	{name: labelDifference, refuses: true, between: betweenLabels},
	{name: "definitions", refuses: true, of: definitions},
	{name: "dataset", refuses: true, between: betweenDatasets},
	{name: load, refuses: true, of: func(_ *Run, l *Level) string { return l.allOfLoad() }},
	{name: inputTokens, refuses: true, between: betweenLengths(func(l *Level) *analyze.Summary { return l.Input })},
	{name: outputTokens, refuses: true, between: betweenLengths(func(l *Level) *analyze.Summary { return l.Output })},
	{name: "token-source", refuses: true, of: func(_ *Run, l *Level) string {
		if l.OK == 0 {
			return noRequests
		}
		return l.TokenSource.String()
	}},
	{name: "streaming", refuses: true, of: streaming},
	{name: hiddenTokens, refuses: true, between: betweenHidden},
	{name: parameters, between: betweenParameters},
	{name: "service", of: func(r *Run, _ *Level) string { return text(r.Header.ServiceKind) }},
	{name: "endpoint", of: func(r *Run, _ *Level) string { return text(r.Header.Endpoint) }},
	{name: "stamps", refuses: true, between: betweenSources(func(l *Level) *analyze.Stamps { return &l.Stamps })},
	{name: "start-stamps", refuses: true, between: betweenSources(func(l *Level) *analyze.Stamps { return &l.Starts })},
	{name: "calibration", between: betweenCalibrations},
	{name: "length", between: betweenDurations},
	{name: "settings", between: betweenSettings},
	{name: "recorder", of: func(r *Run, _ *Level) string {
		if r.Header.Meta != nil {
			return r.Header.Meta.Tool
		}
		return ""
	}},
	{name: "host", of: host},
	{name: "failed", doubt: func(_ *Run, l *Level) string {
		if l.Failed == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d", l.Failed, l.OK+l.Failed)
	}},
	{name: "unreadable", doubt: func(_ *Run, l *Level) string { return atLeastOne(l.Unreadable, "request") }},
	{name: "interrupted", doubt: func(r *Run, l *Level) string {
		switch m := r.Header.Meta; {
		case m != nil && m.Interrupted != "":
			return "by " + m.Interrupted
		case l.Interrupted:
			return "yes"
		}
		return ""
	}},
	{name: "unstable", doubt: func(_ *Run, l *Level) string {
		if l.Unstable {
			return "yes"
		}
		return ""
	}},
	{name: "steady-state", doubt: func(_ *Run, l *Level) string { return strings.Join(l.Unsteady, "; ") }},
	{name: "client-saturated", doubt: func(_ *Run, l *Level) string { return strings.Join(l.Saturated, "; ") }},
	{name: promptCache, doubt: func(_ *Run, l *Level) string { return strings.Join(l.Cached, "; ") }},
	{name: "tokens-together", doubt: func(_ *Run, l *Level) string {
		if l.together() <= maxTogether {
			return ""
		}
		return fmt.Sprintf("%s of %s", plural.Grouped(int64(l.Together)), plural.GroupedOf(int64(l.TokenEvents), "token"))
	}},
	{name: "pauses", doubt: func(r *Run, l *Level) string {
		if len(l.Pauses) == 0 {
			return ""
		}
		text := fmt.Sprintf("%s, touched %s", analyze.PausedFor(l.Pauses), plural.Of(l.Paused, "request"))
		if r.cfg.Selection.WithoutPauses {
			return text + ", left out"
		}
		return text
	}},
	{name: "clock-steps", doubt: func(r *Run, l *Level) string {
		steps := atLeastOne(r.clockSteps(), "step")
		if l.Backward > 0 {
			steps = strings.TrimPrefix(steps+", "+atLeastOne(l.Backward, "gap")+" below 0", ", ")
		}
		return steps
	}},
}

// noRequests equals every text of the other side: if no request succeeded, there is
// nothing to compare, and the rows say so.
const noRequests = "no request succeeded"

// Refusals returns the names of differences that refuse a comparison.
func Refusals() []string {
	var names []string
	for i := range checks {
		if checks[i].refuses {
			names = append(names, checks[i].name)
		}
	}
	return names
}

// doubtNames returns the names of differences that are reasons to doubt a run, and no settings.
func doubtNames() []string {
	var names []string
	for i := range checks {
		if checks[i].doubt != nil {
			names = append(names, checks[i].name)
		}
	}
	return names
}

// differences fills Differences and Unchecked.
func (res *Result) differences(ignore []string) {
	for i := range checks {
		c := &checks[i]
		var found []Difference
		unchecked := false
		for j := range res.Levels {
			d, differ := res.check(c, &res.Levels[j])
			if differ {
				found = append(found, d)
			}
			unchecked = unchecked || !differ && d.Old == unknown && d.New == unknown
		}
		if c.refuses && unchecked {
			res.Unchecked = append(res.Unchecked, c.name)
		}
		if len(found) > 0 && len(found) == len(res.Levels) && !slices.ContainsFunc(found, func(d Difference) bool {
			return d.Old != found[0].Old || d.New != found[0].New
		}) {
			found = found[:1]
			found[0].Level = ""
		}
		for _, d := range found {
			d.Refuses = c.refuses
			d.Ignored = d.Refuses && (slices.Contains(ignore, c.name) || slices.Contains(ignore, All))
			res.refused = res.refused || d.Refuses && !d.Ignored
			res.Differences = append(res.Differences, d)
		}
	}
}

// check runs a check at one level.
func (res *Result) check(c *check, l *LevelResult) (Difference, bool) {
	d := Difference{Name: c.name, Level: l.Name}
	var differ bool
	switch {
	case c.between != nil:
		d.Old, d.New, differ = c.between(l.Old, l.New)
	case c.doubt != nil:
		older, newer := each(l.oldRuns, l.Old, c.doubt), each(l.newRuns, l.New, c.doubt)
		d.Old, d.New = doubts(older), doubts(newer)
		differ = d.Old != "no" || d.New != "no"
	default:
		older, newer := each(l.oldRuns, l.Old, c.of), each(l.newRuns, l.New, c.of)
		d.Old, d.New = strings.Join(older, ", "), strings.Join(newer, ", ")
		all := slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Concat(older, newer), func(s string) bool { return s == noRequests }))))
		differ = len(all) > 1
	}
	return d, differ
}

// each returns the texts of f for the levels and their runs, each text once, in order.
func each(runs []*Run, levels []*Level, f func(*Run, *Level) string) []string {
	var texts []string
	for i, r := range runs {
		s := f(r, levels[i])
		if s == "" {
			s = unknown
		}
		if !slices.Contains(texts, s) {
			texts = append(texts, s)
		}
	}
	return texts
}

// doubts joins the texts of runs that are in doubt; "no" for none.
func doubts(texts []string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == unknown })
	if len(texts) == 0 {
		return noDoubt
	}
	return strings.Join(texts, ", ")
}

// definitions returns the meaning of the times of a file: a recording has raw times,
// a result file of another tool has the times of this tool's definitions.
func definitions(r *Run, _ *Level) string {
	if m := r.Header.Meta; m != nil && m.Import != nil {
		return m.Import.Format
	}
	return "a recording"
}

func streaming(r *Run, _ *Level) string {
	switch {
	case r.cfg.Streaming != nil:
		return strconv.FormatBool(*r.cfg.Streaming)
	case r.Header.Meta == nil || r.Header.Meta.Streaming == nil:
		return ""
	}
	return strconv.FormatBool(*r.Header.Meta.Streaming)
}

// betweenHidden compares whether the servers hid tokens before the first visible one. If only one server
// did, the two sides measure TTFT to different tokens.
func betweenHidden(older, newer []*Level) (o, n string, differ bool) {
	describe := func(levels []*Level) string {
		for _, l := range levels {
			if l.Hidden != nil {
				return l.Hidden.String() + " the first visible token"
			}
		}
		return "none"
	}
	o, n = describe(older), describe(newer)
	return o, n, (o == "none") != (n == "none")
}

func host(r *Run, _ *Level) string {
	m := r.Header.Meta
	if m == nil || m.Host == nil {
		return ""
	}
	h := m.Host
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s/%s %s, %d CPUs", h.Name, h.OS, h.Arch, h.Kernel, h.CPUs)), " ")
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	if *s == "" {
		return "none"
	}
	return *s
}

func atLeastOne(n int, what string) string {
	if n == 0 {
		return ""
	}
	return plural.Of(n, what)
}
