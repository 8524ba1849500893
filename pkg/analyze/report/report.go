package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Renderer writes one finished report.
type Renderer = sheet.Renderer

// An Input is the analysis of one file.
type Input struct {
	Name   string // as the user gave it
	Report *analyze.Report
}

// An occurrence is a warning with the input and the level that it is about; level is
// -1 for a whole run.
type occurrence struct {
	*analyze.Warning
	input, level int
}

// occurrences returns all warnings of the inputs.
func occurrences(inputs []Input) []occurrence {
	var all []occurrence
	for i, in := range inputs {
		for _, w := range in.Report.Warnings {
			all = append(all, occurrence{analyze.AsWarning(w), i, -1})
		}
		for j := range in.Report.Experiments {
			for _, w := range in.Report.Experiments[j].Warnings {
				all = append(all, occurrence{analyze.AsWarning(w), i, j})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.Rank() - b.Rank() })
	return all
}

// Warnings returns the warnings of reports as lines, the most severe first. It joins
// warnings about the same subject on several levels or in several files into one
// line and adds up their counts, unless every is set. A line names its levels if the
// run has several, and its files if there are several.
func Warnings(inputs []Input, every bool) []string {
	var lines []string
	all := occurrences(inputs)
	for len(all) > 0 {
		group, rest := all[:1:1], []occurrence(nil)
		for _, o := range all[1:] {
			if !every && o.Kind == all[0].Kind && o.Sub == all[0].Sub {
				group = append(group, o)
			} else {
				rest = append(rest, o)
			}
		}
		lines = append(lines, warningLine(inputs, group))
		all = rest
	}
	return lines
}

// warningLine returns the line for warnings about the same subject.
func warningLine(inputs []Input, group []occurrence) string {
	var same []*analyze.Warning
	for _, o := range group {
		same = append(same, o.Warning)
	}
	text, ok := analyze.Together(same)
	if !ok { // the warnings have different numbers, which cannot be added
		others := group[1:]
		text += fmt.Sprintf(" (and %s; pa-analyze report --all-warnings shows each)", plural.Of(len(others), "warning")+" like it"+onLevels(inputs, others))
		group = group[:1]
	}
	// Readers put the file's name before their warnings.
	text = plain(text)
	for _, in := range inputs {
		text = strings.TrimPrefix(text, plain(in.Name)+": ")
	}
	if where := place(inputs, group); where != "" {
		text = where + ": " + text
	}
	return text
}

// onLevels returns " on " and the place of warnings: " on concurrency 4, 8"; "" if place
// returns "".
func onLevels(inputs []Input, group []occurrence) string {
	if where := place(inputs, group); where != "" {
		return " on " + where
	}
	return ""
}

// place names the files and the levels of warnings. It names files only of several inputs,
// and levels only if the warnings are about one file; see levelsOf.
func place(inputs []Input, group []occurrence) string {
	var files []int
	for _, o := range group {
		if !slices.Contains(files, o.input) {
			files = append(files, o.input)
		}
	}
	var names []string
	if len(inputs) > 1 {
		for _, i := range files {
			names = append(names, plain(inputs[i].Name))
		}
		if len(files) == len(inputs) {
			names = []string{plural.All(len(inputs)) + " files"}
		}
	}
	if len(files) == 1 {
		if text := levelsOf(inputs[files[0]].Report, group); text != "" {
			names = append(names, text)
		}
	}
	return strings.Join(names, ", ")
}

// mostNamed is the largest number of levels that a warning names one by one.
const mostNamed = 4

// levelsOf names the levels of warnings about one run: "concurrency 4, 8",
// "all 6 levels"; "" for a run with one level, and for the whole run.
func levelsOf(rep *analyze.Report, group []occurrence) string {
	var levels []int
	for _, o := range group {
		if o.level >= 0 {
			levels = append(levels, o.level)
		}
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	switch n := len(rep.Experiments); {
	case len(levels) == 0 || n < 2:
		return ""
	case len(levels) == n:
		return plural.All(n) + " levels"
	case len(levels) > mostNamed:
		return fmt.Sprintf("%d of %d levels", len(levels), n)
	}
	mode, mixed := modes(rep)
	order := byLoad(rep) // a search does not measure them in this order
	at := func(level int) int { return slices.Index(order, &rep.Experiments[level]) }
	slices.SortFunc(levels, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	var names []string
	for _, i := range levels {
		e := &rep.Experiments[i]
		if len(levels) == 1 || mixed || e.Load != "" {
			names = append(names, plain(LevelName(e)))
		} else {
			names = append(names, plain(e.Value))
		}
	}
	text := strings.Join(names, ", ")
	if len(levels) > 1 && !mixed && names[0] == plain(rep.Experiments[levels[0]].Value) {
		text = plain(mode) + " " + text
	}
	return text
}

// Options sets how much a report shows. The zero value is the usual report.
type Options struct {
	// Percentiles shows all percentiles in tables, not the usual four.
	Percentiles bool
	// AllWarnings counts each warning, as [Warnings] lists them if every is set.
	AllWarnings bool
	// Width is the greatest number of columns of a line; 0 means no limit.
	Width int
	// Sparklines adds charts of one line to tables: the course of each figure over the
	// windows and, with Percentiles, histograms of TTFT and ITL, which need
	// [analyze.Config.Curve]. It is for terminals that show their characters.
	Sparklines bool
}

// MissedObjectives returns an error for each level that does not attain the target of the
// SLO, or whose attainment is unknown.
func MissedObjectives(in Input) []error {
	var errs []error
	target := strconv.FormatFloat(100*in.Report.SLOTarget, 'f', -1, 64)
	for i := range in.Report.Experiments {
		e := &in.Report.Experiments[i]
		switch s := e.SLO.Share; {
		case !s.OK:
			errs = append(errs, fmt.Errorf("%s: %s:%s: whether the SLO is met is not known: %s", in.Name, e.Mode, e.Value, s.NA))
		case s.V < in.Report.SLOTarget:
			errs = append(errs, fmt.Errorf("%s: %s:%s: %.4g%% of the requests meet the SLO, less than %s%%", in.Name, e.Mode, e.Value, 100*s.V, target))
		}
	}
	return errs
}

// naLines returns a line for each reason: "queue, prefill: n/a (why)".
func naLines(r *sheet.Reasons) (all []string) {
	for names, why := range r.All() {
		all = append(all, names+": n/a ("+plain(why)+")")
	}
	return all
}

// figureLines returns a line for each figure with a value, made by text, and then a line for each
// reason why other figures have none.
func figureLines(all []figure.Figure, text func(*figure.Figure) string) (lines []string) {
	var lacking sheet.Reasons
	for i := range all {
		f := &all[i]
		if f.Why != "" {
			lacking.Add(f.Label, f.Why)
			continue
		}
		lines = append(lines, f.Label+": "+text(f))
	}
	return append(lines, naLines(&lacking)...)
}

// groupLines returns the lines of [figureLines]. If no figure has a value and all have the same reason, it returns
// one line "NAME: n/a (why)" with the name of the group.
func groupLines(name string, all []figure.Figure, text func(*figure.Figure) string) []string {
	if why := commonReason(all); why != "" {
		return []string{name + ": n/a (" + plain(why) + ")"}
	}
	return figureLines(all, text)
}

// commonReason returns the reason why no figure has a value; "" if a figure has a value, or if the figures have
// several reasons.
func commonReason(all []figure.Figure) string {
	for i := range all {
		if all[i].Why != all[0].Why {
			return ""
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Why
}
