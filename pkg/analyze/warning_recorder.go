package analyze

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// A recorderText describes a warning that the recorder wrote into a file as text.
type recorderText struct {
	pattern *regexp.Regexp // its groups are counts
	kind    WarningKind
	sub     string
	// say makes a text from the counts, which replaces the text in the file; nil keeps
	// the text in the file.
	say func(n []int64) string
}

// subCrowded is the Sub of a warning about tokens that arrived together because pa-record waited for a core.
const subCrowded = "crowded"

// fromRecorder lists the known warnings of the recorder.
var fromRecorder = [...]recorderText{
	{pattern: regexp.MustCompile(`^([\d,]+) of ([\d,]+) tokens arrived together with the previous one.*` + regexp.QuoteMeta(export.TogetherCrowded)), kind: KindLostGaps, sub: subCrowded, say: arrivedTogether(export.TogetherCrowded)},
	{pattern: regexp.MustCompile(`^([\d,]+) of ([\d,]+) tokens arrived together with the previous one.*` + regexp.QuoteMeta(export.TogetherLimited)), kind: KindLostGaps, sub: subCrowded, say: arrivedTogether(export.TogetherLimited)},
	{pattern: regexp.MustCompile(`^([\d,]+) of ([\d,]+) tokens arrived together with the previous one`), kind: KindLostGaps, say: arrivedTogether(export.TogetherUnknown)},
	{pattern: regexp.MustCompile(`^not stable within [\d,]+ windows?$`), kind: KindUnsteady},
	{pattern: regexp.MustCompile(`^the throughput is stable, the latency is not`), kind: KindUnsteady},
	{pattern: regexp.MustCompile(`^the disk did not keep up`), kind: KindDropped},
	{pattern: unsent, kind: KindLoad},
	{pattern: regexp.MustCompile(`^ended (?:early: |before )`), kind: KindIncomplete},
	{pattern: regexp.MustCompile(`^(?:the file keeps [\d,]+ of [\d,]+ requests?|(?:result|benchmark) \d+ of the file)`), kind: KindIncomplete},
	{pattern: regexp.MustCompile(`(?:broke off with|(?:was|were) not (?:asked, since|sent, because))`), kind: KindFailed},
	{pattern: regexp.MustCompile(`^no metrics from|gave no metrics|scrapes? (?:was|were) dropped|too many series|series came or went|samples? (?:was|were) of a series|lines? makes? no sense`), kind: KindServer},
}

// unsent matches the warning that requests of the schedule were not sent.
var unsent = regexp.MustCompile(regexp.QuoteMeta(export.UnsentWarning))

// ofNamedRate matches [export.SentWarning].
var ofNamedRate = regexp.MustCompile(`^[\d.e+]+ requests/s were sent, [\d.e+]+ % (?:below|above) the named rate of `)

// arrivedTogether returns a function that makes the text about unknown gaps and their cause.
func arrivedTogether(cause string) func(n []int64) string {
	return func(n []int64) string {
		return plural.Grouped(n[0]) + " of " + plural.GroupedOf(n[1], "token") + " arrived together with the previous one, so " + plural.Form(n[0], "its gap is", "their gaps are") + " unknown; " + cause
	}
}

// RecorderWarning returns the Warning for a text that the recorder, or the merge of shards,
// wrote into a file.
func RecorderWarning(text string) *Warning {
	whole := text
	if kind, ok := shardsWarning(text); ok {
		return newWarning(kind, "%s", text)
	}
	if ofNamedRate.MatchString(text) {
		return sentWarning(text)
	}
	text, ranks := shards.CutRanks(text) // of a merged run
	switch {
	case strings.HasPrefix(text, export.SaturationWarning):
		return newWarning(KindClient, "%s", whole)
	case strings.HasPrefix(text, export.ClockStepWarning):
		return newWarning(KindClock, "%s", whole)
	}
	for i := range fromRecorder {
		r := &fromRecorder[i]
		m := r.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if r.say == nil {
			return newWarning(r.kind, "%s", whole)
		}
		var counts []int64
		for _, digits := range m[1:] {
			n, err := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
			if err != nil { // more digits than an int64 has
				return newWarning(r.kind, "%s", whole)
			}
			counts = append(counts, n)
		}
		w := counted(r.kind, r.sub, r.say, counts...)
		w.text += ranks // the text of the sum of several ranks has none
		return w
	}
	return newWarning(KindOther, "%s", whole)
}

// sentWarning returns the warning with the text of [export.SentWarning]. Several of them are
// one about their levels.
func sentWarning(text string) *Warning {
	return counted(KindLoad, SubSent, func(n []int64) string {
		if n[0] == 1 {
			return text
		}
		return "the requests/s that were sent are more than 5 % off the named rates; compare levels by the rate that was sent"
	}, 1)
}

// SubSent is the Sub of warnings that a level did not send the rate that it names.
const SubSent = "sent"

// isUnsent reports whether a warning says that requests of the schedule were not sent.
func isUnsent(err error) bool { return unsent.MatchString(err.Error()) }

// shardsWarning returns the warning kind of a text that merging shards wrote into a run.
func shardsWarning(text string) (WarningKind, bool) {
	switch {
	case strings.HasPrefix(text, shards.IncompleteWarning):
		return KindIncomplete, true
	case strings.HasPrefix(text, shards.UnknownClocksWarning), strings.HasPrefix(text, shards.ClockContradictionWarning):
		return KindClock, true
	}
	return "", false
}

// shardWarning returns the warning that a file is one shard of a run; nil if it is a whole run.
func shardWarning(run *export.Run) error {
	if run.Meta == nil || run.Meta.Shard == nil || run.Meta.Shard.WorldSize == 1 {
		return nil
	}
	s := run.Meta.Shard
	if err := shards.Check(s); err != nil {
		return newWarning(KindUnreadable, "%v", err)
	}
	part := shards.ShareOf(run)
	if part == "" {
		part = "a part of the load"
	}
	return newWarning(KindIncomplete, "this file is the shard of rank %d of %s: %s; give the files of all ranks, or a glob, for the figures of the run", s.Rank, plural.GroupedOf(s.WorldSize, "rank"), part)
}

// countWarnings returns warnings about numbers of requests that the header of e states and that the
// requests of the level, which counts holds, contradict. No figure is computed from the stated numbers.
func countWarnings(e *export.Experiment, counts *export.RequestCounts) []error {
	m := e.Meta
	if m == nil || m.Unreadable > 0 {
		return nil
	}
	var all []error
	for _, d := range counts.Differences(&m.RequestCounts) {
		if d.Stated == 0 { // the header leaves such numbers out
			continue
		}
		all = append(all, &Warning{Kind: KindContradiction, Sub: d.What, text: fmt.Sprintf(
			"the header counts %s %s, and the file holds %s; all figures are computed from the requests in the file: it lost or gained requests after it was written",
			plural.Grouped(int64(d.Stated)), d.What, plural.Grouped(int64(d.Held)))})
	}
	return all
}

// checkClient returns the figures of the recorder about itself that agree with each other, and warnings about the
// others. m holds only figures that can be true, as [export.ClientMeta.Possible] returns them. merged says that
// they are of several ranks.
func checkClient(m *export.ClientMeta, merged bool) (*export.ClientMeta, []error) {
	if m == nil {
		return nil, nil
	}
	var all []error
	kept := *m
	refuse := func(format string, args ...any) {
		all = append(all, &Warning{Kind: KindContradiction, Sub: "client", text: fmt.Sprintf(format, args...) + "; the figure is left out: the header was changed after it was written"})
	}
	// The figures of several ranks are of several machines.
	if c := m.CPU; c != nil && !merged && m.DurationNS > 0 {
		wall, used := float64(m.DurationNS)*float64(c.Cores), float64(c.UserNS)+float64(c.SystemNS)
		switch share := min(used/wall, 1); {
		case used > wall*mostCPUShare+float64(accountingTicks):
			refuse("the client states %s of CPU time in %s on %s, which cannot be", plural.Time(time.Duration(used)), plural.Time(time.Duration(m.DurationNS)), plural.Of(c.Cores, "core"))
			kept.CPU = nil
		case c.Share < share-shareError || c.Share > share+shareError:
			refuse("the client states that it took %.1f %% of its CPU time, and %s in %s on %s are %.1f %%",
				100*c.Share, plural.Time(time.Duration(used)), plural.Time(time.Duration(m.DurationNS)), plural.Of(c.Cores, "core"), 100*share)
			kept.CPU = nil
		}
	}
	return &kept, all
}

// Bounds of the CPU time that a client can state. The threads of a program that wait in the kernel may be more
// than its cores, and the kernel accounts for CPU time in ticks.
const (
	mostCPUShare    = 1.25
	accountingTicks = 100 * time.Millisecond
	shareError      = 0.001
)
