package diff

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/levelpair"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
	"github.com/pa-tools/pa/pkg/analyze/summary"
)

// A Difference is a difference in how the runs of the two sides were made, or a reason
// to doubt one of them.
type Difference struct {
	Cause
	Old, New string
}

// A Cause is a setting that differs between runs, or a reason to doubt some of them.
type Cause struct {
	Name string // "model"
	// Level is the name of the load level; "" for all levels.
	Level string
	// Refuses is set if the numbers of the runs have different meanings.
	Refuses bool
	// Ignored is set if the options ignore it.
	Ignored bool
}

// refuses reports whether the cause refuses the runs.
func (c *Cause) refuses() bool { return c.Refuses && !c.Ignored }

// at returns " at " and the level; "" for all levels.
func (c *Cause) at() string {
	if c.Level == "" {
		return ""
	}
	return " at " + c.Level
}

// Effect returns the effect of the cause for a reader: "not comparable", "ignored", or ""
// if it does not refuse the runs.
func (c *Cause) Effect() string {
	switch {
	case c.Ignored:
		return "ignored"
	case c.Refuses:
		return "not comparable"
	}
	return ""
}

// cause returns the cause of a [Difference] or a [SetDifference].
func (c *Cause) cause() *Cause { return c }

// refused returns the differences that refuse the runs.
func refused[D interface{ cause() *Cause }](all []D) (some []D) {
	for _, d := range all {
		if d.cause().refuses() {
			some = append(some, d)
		}
	}
	return some
}

// namesOf returns the names of differences, each once.
func namesOf[D interface{ cause() *Cause }](all []D) (names []string) {
	for _, d := range all {
		if name := d.cause().Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
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
	of func(*RunLevel) string
	// between compares the two sides if equal texts cannot decide.
	between func(older, newer []*RunLevel) (o, n string, differ bool)
	// doubt returns a reason to doubt a run, which is reported for either side; "" for
	// none.
	doubt func(*RunLevel) string
}

// checks holds all checks, in the order of reports.
var checks = [...]check{
	{name: "model", refuses: true, of: func(l *RunLevel) string { return l.Run.Model }},
	{name: labelDifference, refuses: true, between: betweenLabels},
	{name: "definitions", refuses: true, of: definitions},
	{name: "dataset", refuses: true, between: betweenDatasets},
	{name: load, refuses: true, of: func(l *RunLevel) string { return l.allOfLoad() }},
	{name: inputTokens, refuses: true, between: betweenLengths(promptLengths)},
	{name: outputTokens, refuses: true, between: betweenLengths(answerLengths)},
	{name: "token-source", refuses: true, of: func(l *RunLevel) string {
		if l.OK == 0 {
			return noRequests
		}
		return l.TokenSource.String()
	}},
	{name: "streaming", refuses: true, of: streaming},
	{name: hiddenTokens, refuses: true, between: betweenHidden},
	{name: parameters, between: betweenParameters},
	{name: "service", of: func(l *RunLevel) string { return text(l.Run.Header.ServiceKind) }},
	{name: "endpoint", of: func(l *RunLevel) string { return text(l.Run.Header.Endpoint) }},
	{name: "stamps", refuses: true, between: betweenSources(func(l *RunLevel) *analyze.Stamps { return &l.Stamps })},
	{name: "start-stamps", refuses: true, between: betweenSources(func(l *RunLevel) *analyze.Stamps { return &l.Starts })},
	{name: "calibration", between: betweenCalibrations},
	{name: "length", between: betweenDurations},
	{name: "settings", between: betweenSettings},
	{name: "recorder", of: func(l *RunLevel) string {
		if l.Run.Header.Meta != nil {
			return l.Run.Header.Meta.Tool
		}
		return ""
	}},
	{name: "host", of: host},
	{name: "failed", doubt: func(l *RunLevel) string {
		if l.Failed == 0 {
			return ""
		}
		return fmt.Sprintf("%d of %d", l.Failed, l.OK+l.Failed)
	}},
	{name: "unreadable", doubt: func(l *RunLevel) string { return atLeastOne(l.Unreadable, "request") }},
	{name: "interrupted", doubt: func(l *RunLevel) string {
		switch m := l.Run.Header.Meta; {
		case m != nil && m.Interrupted != "":
			return "by " + m.Interrupted
		case l.Interrupted:
			return "yes"
		}
		return ""
	}},
	{name: "unstable", doubt: func(l *RunLevel) string {
		if l.Unstable {
			return "yes"
		}
		return ""
	}},
	{name: "steady-state", doubt: func(l *RunLevel) string { return strings.Join(l.Unsteady, "; ") }},
	{name: "client-saturated", doubt: func(l *RunLevel) string { return strings.Join(l.Saturated, "; ") }},
	{name: promptCache, doubt: func(l *RunLevel) string { return strings.Join(l.Cached, "; ") }},
	{name: "tokens-together", doubt: func(l *RunLevel) string {
		if l.together() <= maxTogether {
			return ""
		}
		return fmt.Sprintf("%s of %s", plural.Grouped(int64(l.Together)), plural.GroupedOf(int64(l.TokenEvents), "token"))
	}},
	{name: "pauses", doubt: func(l *RunLevel) string {
		if len(l.Pauses) == 0 {
			return ""
		}
		text := fmt.Sprintf("%s, touched %s", analyze.PausedFor(l.Pauses), plural.Of(l.Paused, "request"))
		if l.Run.cfg.Selection.WithoutPauses {
			return text + ", left out"
		}
		return text
	}},
	{name: "clock-steps", doubt: func(l *RunLevel) string {
		steps := atLeastOne(l.Run.clockSteps, "step")
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
		var found []*Difference
		unchecked := false
		for _, l := range res.Levels {
			d, differ := res.check(c, l)
			if differ {
				found = append(found, d)
			}
			unchecked = unchecked || !differ && d.Old == unknown && d.New == unknown
		}
		if c.refuses && unchecked {
			res.Unchecked = append(res.Unchecked, c.name)
		}
		if len(found) > 0 && len(found) == len(res.Levels) && !slices.ContainsFunc(found, func(d *Difference) bool {
			return d.Old != found[0].Old || d.New != found[0].New
		}) {
			found = found[:1]
			found[0].Level = ""
		}
		for _, d := range found {
			d.Refuses = c.refuses
			d.Ignored = d.Refuses && (slices.Contains(ignore, c.name) || slices.Contains(ignore, All) || c.name == load && res.o.Pair != levelpair.Load)
			res.refused = res.refused || d.refuses()
			res.Differences = append(res.Differences, d)
		}
	}
}

// Incomparable returns an error that names what makes the sides incomparable; nil if
// they can be compared.
func (r *Result) Incomparable() error {
	if len(r.Levels) == 0 {
		advice := "if each side has one level, --ignore load compares them"
		if len(r.OldOnly) > 1 && len(r.NewOnly) > 1 {
			advice = "--pair order, or --pair kind, compares levels of a sweep whose loads differ"
		}
		return fmt.Errorf("no load level in common: %s has %s, %s has %s; "+advice,
			r.o.Sides.old(), sanitize.Text(strings.Join(r.OldOnly, ", ")), r.o.Sides.new(), sanitize.Text(strings.Join(r.NewOnly, ", ")))
	}
	var errs []error
	for _, d := range r.Refused() {
		because := ""
		if d.Name == inputTokens || d.Name == outputTokens {
			because = r.otherParameters()
		}
		errs = append(errs, errors.New(sanitize.Text(fmt.Sprintf("not comparable: %s%s: %s %s, %s %s%s; use --ignore %s to compare anyway", d.Name, d.at(), r.o.Sides.old(), d.Old, r.o.Sides.new(), d.New, because, d.Name))))
	}
	return errors.Join(errs...)
}

// otherParameters names the parameters of requests that differ, which may be why numbers
// of tokens do; "" for none.
func (r *Result) otherParameters() string {
	i := slices.IndexFunc(r.Differences, func(d *Difference) bool { return d.Name == parameters })
	if i < 0 {
		return ""
	}
	return fmt.Sprintf(" (perhaps because of the parameters: %s %s, %s %s)", r.o.Sides.old(), r.Differences[i].Old, r.o.Sides.new(), r.Differences[i].New)
}

// check runs a check at one level.
func (res *Result) check(c *check, l *LevelDiff) (*Difference, bool) {
	d := &Difference{Cause: Cause{Name: c.name, Level: l.Name}}
	var differ bool
	switch {
	case c.between != nil:
		d.Old, d.New, differ = c.between(l.Old, l.New)
	case c.doubt != nil:
		older, newer := each(l.Old, c.doubt), each(l.New, c.doubt)
		d.Old, d.New = doubts(older), doubts(newer)
		differ = d.Old != "no" || d.New != "no"
	default:
		older, newer := each(l.Old, c.of), each(l.New, c.of)
		d.Old, d.New = strings.Join(older, ", "), strings.Join(newer, ", ")
		all := slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Concat(older, newer), func(s string) bool { return s == noRequests }))))
		differ = len(all) > 1
	}
	return d, differ
}

// each returns the texts of f for the levels, each text once, in order.
func each(levels []*RunLevel, f func(*RunLevel) string) []string {
	var texts []string
	for _, l := range levels {
		s := f(l)
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
func definitions(l *RunLevel) string {
	if m := l.Run.Header.Meta; m != nil && m.Import != nil {
		return m.Import.Format
	}
	return "a recording"
}

func streaming(l *RunLevel) string {
	switch {
	case l.Run.cfg.Streaming != nil:
		return strconv.FormatBool(*l.Run.cfg.Streaming)
	case l.Run.Header.Meta == nil || l.Run.Header.Meta.Streaming == nil:
		return ""
	}
	return strconv.FormatBool(*l.Run.Header.Meta.Streaming)
}

// betweenHidden compares whether the servers hid tokens before the first visible one. If only one server
// did, the two sides measure TTFT to different tokens.
func betweenHidden(older, newer []*RunLevel) (o, n string, differ bool) {
	describe := func(levels []*RunLevel) string {
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

func host(l *RunLevel) string {
	m := l.Run.Header.Meta
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

// betweenSources compares the shares of kernel stamps. The sides differ if the shares of
// all their levels span more than 5 points, or if the sources are known at some levels
// and mostly unknown at others.
func betweenSources(of func(*RunLevel) *analyze.Stamps) func(older, newer []*RunLevel) (o, n string, differ bool) {
	const points = 0.05
	type side struct {
		low, high float64 // shares of kernel stamps
		known     bool
		unknown   bool
	}
	look := func(levels []*RunLevel) side {
		s := side{low: 1}
		for _, l := range levels {
			c := of(l)
			if c.Kernel+c.User+c.Unknown == 0 {
				continue
			}
			if 2*c.Unknown > c.Kernel+c.User {
				s.unknown = true
				continue
			}
			share := float64(c.Kernel) / float64(c.Kernel+c.User+c.Unknown)
			s.low, s.high, s.known = min(s.low, share), max(s.high, share), true
		}
		return s
	}
	describe := func(s side) string {
		switch {
		case s.known && s.unknown:
			return "some " + unknown
		case s.unknown:
			return unknown
		case !s.known:
			return noRequests
		case s.low == s.high:
			return sheet.Share(s.low) + " kernel"
		}
		return sheet.Share(s.low) + " to " + sheet.Share(s.high) + " kernel"
	}
	return func(older, newer []*RunLevel) (string, string, bool) {
		o, n := look(older), look(newer)
		known, unknowns := o.known || n.known, o.unknown || n.unknown
		differ := known && unknowns
		if known && !differ {
			low, high := min(o.low, n.low), max(o.high, n.high)
			differ = high-low > points
		}
		return describe(o), describe(n), differ
	}
}

// betweenLengths compares the distributions of numbers of tokens. They differ if the
// means are more than 5 % and more than 4 standard errors apart, for independent
// requests, or if a percentile differs: see apartAt. The percentiles of several runs are
// averaged.
func betweenLengths(kind lengthKind) func(older, newer []*RunLevel) (o, n string, differ bool) {
	describe := func(p lengths, some bool) string {
		switch {
		case !some:
			return noRequests
		case p.n == 0:
			return unknown
		}
		return fmt.Sprintf("mean %.4g, p10 %.4g, p50 %.4g, p90 %.4g", p.mean, p.pct[1], p.pct[3], p.pct[5])
	}
	return func(older, newer []*RunLevel) (string, string, bool) {
		o, n := kind.pool(older), kind.pool(newer)
		if o.n == 0 || n.n == 0 { // one side knows: differ only if the other had requests
			some := func(levels []*RunLevel) bool {
				return slices.ContainsFunc(levels, func(l *RunLevel) bool { return l.OK > 0 })
			}
			return describe(o, some(older)), describe(n, some(newer)), o.n+n.n > 0 && some(older) && some(newer)
		}
		se := o.errorTo(n)
		differ := math.Abs(o.mean-n.mean) > max(0.05*max(o.mean, n.mean), 4*se)
		for q := 1; q < len(lengthLevels)-1; q++ {
			differ = differ || apartAt(q, o.pct, n.pct, se)
		}
		return describe(o, true), describe(n, true), differ
	}
}

// A lengthKind is a kind of numbers of tokens.
type lengthKind struct {
	name string // plural
	of   func(*RunLevel) *summary.Summary
}

var (
	promptLengths = lengthKind{"prompts", func(l *RunLevel) *summary.Summary { return l.Input }}
	answerLengths = lengthKind{"answers", func(l *RunLevel) *summary.Summary { return l.Output }}
)

// A lengths has the numbers of tokens of several runs.
type lengths struct {
	n         int
	mean, std float64
	pct       [len(lengthLevels)]float64
}

// pool returns the lengths of several runs together.
func (k lengthKind) pool(levels []*RunLevel) (p lengths) {
	for _, l := range levels {
		d := k.of(l)
		if d == nil {
			continue
		}
		n := float64(d.N)
		p.n += d.N
		p.mean += n * d.Mean
		p.std += n * d.Std
		for i, level := range lengthLevels {
			p.pct[i] += n * d.P(level)
		}
	}
	n := float64(max(p.n, 1))
	p.mean, p.std = p.mean/n, p.std/n
	for i := range p.pct {
		p.pct[i] /= n
	}
	return p
}

// errorTo returns the standard error of the difference of two means, for independent requests.
func (p *lengths) errorTo(q lengths) float64 {
	return math.Sqrt(p.std*p.std/float64(p.n) + q.std*q.std/float64(q.n))
}

// differ says how much the mean lengths of two sides differ: by more than 1 % and more than 4 standard errors.
// far is the size of the difference, 0 for none. Less than 5 % does not refuse the comparison, but moves times
// and rates as much.
func (k lengthKind) differ(older, newer []*RunLevel, whose string) (far float64, words string) {
	o, n := k.pool(older), k.pool(newer)
	if o.n == 0 || n.n == 0 || !(math.Abs(n.mean-o.mean) > max(0.01*max(o.mean, n.mean), 4*o.errorTo(n))) {
		return 0, ""
	}
	far = math.Abs(math.Log(n.mean / o.mean))
	longer := percent(n.mean/o.mean-1) + " longer"
	if n.mean < o.mean {
		longer = percent(1-n.mean/o.mean) + " shorter"
	}
	return far, fmt.Sprintf("the %s %s are %s (mean %.4g instead of %.4g tokens)", k.name, whose, longer, n.mean, o.mean)
}

// OtherLengths says how much the mean lengths of prompts and of answers differ, which moves times and rates; nil if
// they do not. whose says what newer is: "of new".
func OtherLengths(older, newer []*RunLevel, whose string) (texts []string) {
	for _, kind := range [...]lengthKind{promptLengths, answerLengths} {
		if far, words := kind.differ(older, newer, whose); far > 0 {
			texts = append(texts, words)
		}
	}
	return texts
}

// lengthLevels are the percentiles at which numbers of tokens are compared. The first
// and the last serve only as neighbours.
var lengthLevels = [...]float64{5, 10, 25, 50, 75, 90, 95}

// apartAt reports whether the percentile at lengthLevels[i] differs: by more than 5 %,
// one token, and the chance in a distribution with one peak. It must also lie beyond the
// next percentiles of the other side, because percentiles of two peaks jump between them.
// se is the standard error of the difference of the means. For normal values the standard
// error of the median is 1.25 times as large, of a quartile 1.36 and of a decile 1.71
// times.
func apartAt(i int, o, n [len(lengthLevels)]float64, se float64) bool {
	ratio := map[float64]float64{10: 1.71, 25: 1.36, 50: 1.25, 75: 1.36, 90: 1.71}[lengthLevels[i]]
	if math.Abs(o[i]-n[i]) <= max(0.05*max(o[i], n[i]), 4*ratio*se, 1) {
		return false
	}
	within := func(v float64, other [len(lengthLevels)]float64) bool { return other[i-1] <= v && v <= other[i+1] }
	return !within(o[i], n) || !within(n[i], o)
}

// betweenCalibrations compares the errors of the recorders' times, as their calibrations
// found them, by the 99th percentiles; received and start times apart. The sides differ
// if only one side is calibrated, or if the largest error of all runs is more than twice
// the smallest and more than 10 µs above it.
func betweenCalibrations(older, newer []*RunLevel) (o, n string, differ bool) {
	const factor, atLeastNS = 2, 10_000
	type errors struct{ received, started []float64 }
	gather := func(levels []*RunLevel) (e errors) {
		for _, l := range levels {
			if c := l.Clock; c != nil && c.Receive != nil {
				e.received = append(e.received, float64(c.Receive.P99NS))
			}
			if c := l.Clock; c != nil && c.Start != nil {
				e.started = append(e.started, float64(c.Start.P99NS))
			}
		}
		return e
	}
	describe := func(e errors) string {
		var parts []string
		for _, x := range [...]struct {
			ns   []float64
			what string
		}{{e.received, " received"}, {e.started, " started"}} {
			if len(x.ns) > 0 {
				parts = append(parts, spanOf(x.ns, report.Span)+x.what)
			}
		}
		if parts == nil {
			return unknown
		}
		return "p99 " + strings.Join(parts, ", ")
	}
	apart := func(o, n []float64) bool {
		all := slices.Concat(o, n)
		if len(o) == 0 || len(n) == 0 {
			return len(all) > 0
		}
		low, high := slices.Min(all), slices.Max(all)
		return high > factor*low && high-low > atLeastNS
	}
	a, b := gather(older), gather(newer)
	return describe(a), describe(b), apart(a.received, b.received) || apart(a.started, b.started)
}

// otherwise lists the settings of a recorder that betweenSettings skips: other checks
// compare them, they do not matter, or they must differ.
var otherwise = map[string]bool{
	"service_kind": true, "model": true, "protocol": true, "endpoint": true, "streaming": true, "concurrency": true, "input_data": true,
	"url": true, "urls": true, "seed": true, "profile_export_file": true, "repeat": true, "runs": true, "interleave": true, "calibrate": true,
	"servers": true, "label": true,
}

// betweenSettings compares the settings of the recorders and names the different ones. If
// a level has no settings, nothing is compared. Values of --extra-body are named among the
// parameters of requests if these are known.
func betweenSettings(older, newer []*RunLevel) (o, n string, differ bool) {
	if slices.ContainsFunc(slices.Concat(older, newer), func(l *RunLevel) bool { return l.settings == nil }) {
		return unknown, unknown, false
	}
	skip := otherwise
	if promptsKnown(older) && promptsKnown(newer) {
		skip = maps.Clone(otherwise)
		skip["extra_body"] = true
	}
	return betweenNamed(older, newer, func(l *RunLevel) map[string]string { return l.settings }, skip)
}

// betweenDurations compares the durations of the levels and their numbers of requests.
// The sides differ if the largest of all levels is more than a quarter above the
// smallest. Durations are not compared if one of them is 0.
func betweenDurations(older, newer []*RunLevel) (o, n string, differ bool) {
	var seconds, requests []float64
	describe := func(levels []*RunLevel) string {
		var s, q []float64
		for _, l := range levels {
			s, q = append(s, float64(l.DurationNS)/1e9), append(q, float64(l.OK+l.Failed))
		}
		seconds, requests = append(seconds, s...), append(requests, q...)
		four := func(v float64) string { return fmt.Sprintf("%.4g", v) }
		return fmt.Sprintf("%s requests in %s s", spanOf(q, four), spanOf(s, four))
	}
	o, n = describe(older), describe(newer)
	apart := func(x []float64) bool { return len(x) > 0 && slices.Max(x) > 1.25*slices.Min(x) }
	return o, n, apart(requests) || apart(seconds) && !slices.Contains(seconds, 0)
}

// spanOf formats the smallest and the largest of x, which is not empty.
func spanOf(x []float64, format func(float64) string) string {
	low, high := format(slices.Min(x)), format(slices.Max(x))
	if low == high {
		return low
	}
	return low + " to " + high
}

// betweenLabels compares the labels within each side. The sides themselves may have different
// labels, but a side with two labels has runs of two servers.
func betweenLabels(older, newer []*RunLevel) (o, n string, differ bool) {
	labels := func(levels []*RunLevel) (all []string) {
		for _, l := range levels {
			if label := l.Run.label(); label != "" && !slices.Contains(all, label) {
				all = append(all, label)
			}
		}
		return all
	}
	a, b := labels(older), labels(newer)
	return strings.Join(a, ", "), strings.Join(b, ", "), len(a) > 1 || len(b) > 1
}

// betweenDatasets compares the input data: the hashes of the prompts if all runs recorded
// them, otherwise the hashes that include the parameters. Runs of one side may have
// different input data, as runs of different seeds have, if the other side has the same
// input data in the same shares.
func betweenDatasets(older, newer []*RunLevel) (o, n string, differ bool) {
	hash := func(l *RunLevel) string { return l.promptHash }
	if !promptsKnown(older) || !promptsKnown(newer) {
		hash = func(l *RunLevel) string { return l.datasetHash }
	}
	a, b := runsByHash(older, hash), runsByHash(newer, hash)
	for h := range maps.Keys(a) {
		differ = differ || a[h]*len(newer) != b[h]*len(older)
	}
	differ = differ || len(a) > 0 && len(b) > len(a)
	return hashesText(a), hashesText(b), differ
}

func runsByHash(levels []*RunLevel, hash func(*RunLevel) string) map[string]int {
	runs := map[string]int{}
	for _, l := range levels {
		runs[hash(l)]++
	}
	return runs
}

// hashesText lists hashes. It shortens several hashes, because a row of the output has room
// for one whole hash only.
func hashesText(runs map[string]int) string {
	const digits = 12
	var texts []string
	for _, h := range slices.Sorted(maps.Keys(runs)) {
		switch {
		case h == "":
			h = unknown
		case len(runs) > 1:
			h = "sha256:" + h[:min(digits, len(h))]
		default:
			h = "sha256:" + h
		}
		texts = append(texts, h)
	}
	return strings.Join(texts, ", ")
}

// promptsKnown reports whether all runs recorded the hash of their prompts, and so
// separated the prompts from the parameters.
func promptsKnown(levels []*RunLevel) bool {
	return !slices.ContainsFunc(levels, func(l *RunLevel) bool { return l.promptHash == "" })
}

// betweenParameters compares the parameters of the requests that are not part of the prompt
// and names the different ones. If a run did not record its parameters, it compares nothing.
func betweenParameters(older, newer []*RunLevel) (o, n string, differ bool) {
	if !promptsKnown(older) || !promptsKnown(newer) {
		return unknown, unknown, false
	}
	return betweenNamed(older, newer, func(l *RunLevel) map[string]string { return l.parameters }, nil)
}

// betweenNamed compares named values of the levels, except the names in skip, and returns
// the different ones. A value that differs within one side counts as different.
func betweenNamed(older, newer []*RunLevel, namedValues func(*RunLevel) map[string]string, skip map[string]bool) (o, n string, differ bool) {
	names := map[string]bool{}
	for _, l := range slices.Concat(older, newer) {
		for name := range namedValues(l) {
			names[name] = true
		}
	}
	values := func(levels []*RunLevel, name string) []string {
		var v []string
		for _, l := range levels {
			if s := cmp.Or(namedValues(l)[name], "not set"); !slices.Contains(v, s) {
				v = append(v, s)
			}
		}
		return v
	}
	var texts [2][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := values(older, name), values(newer, name)
		if skip[name] || len(a) == 1 && slices.Equal(a, b) {
			continue
		}
		for i, v := range [...][]string{a, b} {
			texts[i] = append(texts[i], name+" "+strings.Join(v, ", "))
		}
	}
	return strings.Join(texts[0], "; "), strings.Join(texts[1], "; "), texts[0] != nil
}
