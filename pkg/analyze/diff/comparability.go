package diff

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
)

// A Difference is one in how the runs of the two sides were made, or something
// that casts doubt on one of them.
type Difference struct {
	Name string // "model"
	// Level is the load level it is about; "" for all of them.
	Level    string
	Old, New string
	// Refuses says that the numbers of the two sides mean different things.
	Refuses bool
	// Ignored says that it was to be ignored.
	Ignored bool
}

// All stands for each name of a [Difference] in [Options.Ignore].
const All = "all"

const (
	load    = "load"
	unknown = "not recorded"
)

// A check finds one kind of difference.
type check struct {
	name    string
	refuses bool
	// of describes a run at a level; runs differ if the texts do. A text that
	// is "" is shown as not recorded.
	of func(*Run, *Level) string
	// between is for what equal texts cannot decide.
	between func(older, newer []*Level) (o, n string, differ bool)
	// doubt is for what is told whenever there is some on either side: "" is
	// none.
	doubt func(*Run, *Level) string
}

// checks are all that is looked at, in the order of reports.
var checks = [...]check{
	{name: "model", refuses: true, of: func(r *Run, _ *Level) string { return r.Model }},
	{name: "dataset", refuses: true, of: dataset},
	{name: load, refuses: true, of: func(_ *Run, l *Level) string { return l.load() }},
	{name: "input-tokens", refuses: true, between: betweenLengths(func(l *Level) *analyze.Summary { return l.Input })},
	{name: "output-tokens", refuses: true, between: betweenLengths(func(l *Level) *analyze.Summary { return l.Output })},
	{name: "token-source", refuses: true, of: func(_ *Run, l *Level) string {
		if l.OK == 0 {
			return noRequests
		}
		return l.TokenSource.String()
	}},
	{name: "streaming", refuses: true, of: streaming},
	{name: "service", of: func(r *Run, _ *Level) string { return text(r.Header.ServiceKind) }},
	{name: "endpoint", of: func(r *Run, _ *Level) string { return text(r.Header.Endpoint) }},
	{name: "stamps", refuses: true, between: betweenSources(func(l *Level) *analyze.Stamps { return &l.Stamps })},
	{name: "start-stamps", refuses: true, between: betweenSources(func(l *Level) *analyze.Stamps { return &l.Starts })},
	{name: "length", between: betweenDurations},
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
	{name: "client-saturated", doubt: func(_ *Run, l *Level) string { return strings.Join(l.Saturated, "; ") }},
	{name: "clock-steps", doubt: func(r *Run, l *Level) string {
		steps := atLeastOne(r.clockSteps(), "step")
		if l.Backward > 0 {
			steps = strings.TrimPrefix(steps+", "+atLeastOne(l.Backward, "gap")+" below 0", ", ")
		}
		return steps
	}},
}

// noRequests equals whatever the other side has: where nothing succeeded there
// is nothing to compare, and the rows say so.
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

// differences fills Differences.
func (res *Result) differences(ignore []string) {
	for i := range checks {
		c := &checks[i]
		var found []Difference
		for j := range res.Levels {
			if d, ok := res.check(c, &res.Levels[j]); ok {
				found = append(found, d)
			}
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
			res.Differences = append(res.Differences, d)
		}
	}
}

// check looks at one level.
func (res *Result) check(c *check, l *LevelResult) (Difference, bool) {
	d := Difference{Name: c.name, Level: l.Name}
	var differ bool
	switch {
	case c.between != nil:
		d.Old, d.New, differ = c.between(l.Old, l.New)
	case c.doubt != nil:
		older, newer := each(res.Old, l.Old, c.doubt), each(res.New, l.New, c.doubt)
		d.Old, d.New = doubts(older), doubts(newer)
		differ = d.Old != "no" || d.New != "no"
	default:
		older, newer := each(res.Old, l.Old, c.of), each(res.New, l.New, c.of)
		d.Old, d.New = strings.Join(older, ", "), strings.Join(newer, ", ")
		all := slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Concat(older, newer), func(s string) bool { return s == noRequests }))))
		differ = len(all) > 1
	}
	return d, differ
}

// each returns what f says about the runs that have the level, each text once,
// in order.
func each(runs []*Run, levels []*Level, f func(*Run, *Level) string) []string {
	var texts []string
	for _, r := range runs {
		for i := range r.Levels {
			l := &r.Levels[i]
			if !slices.Contains(levels, l) {
				continue
			}
			s := f(r, l)
			if s == "" {
				s = unknown
			}
			if !slices.Contains(texts, s) {
				texts = append(texts, s)
			}
		}
	}
	return texts
}

// doubts joins the texts of runs that are in doubt; "no" for none.
func doubts(texts []string) string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == unknown })
	if len(texts) == 0 {
		return "no"
	}
	return strings.Join(texts, ", ")
}

func dataset(r *Run, _ *Level) string {
	if m := r.Header.Meta; m != nil && m.DatasetSHA256 != "" {
		return "sha256:" + m.DatasetSHA256
	}
	return unknown
}

func streaming(r *Run, _ *Level) string {
	if r.Header.Meta == nil {
		return ""
	}
	return strconv.FormatBool(r.Header.Meta.Streaming)
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
	switch n {
	case 0:
		return ""
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// betweenSources compares the shares of kernel stamps. They differ if the
// shares do by more than 5 points, or the kinds do.
func betweenSources(of func(*Level) *analyze.Stamps) func(older, newer []*Level) (o, n string, differ bool) {
	const points = 0.05
	type side struct {
		low, high float64 // shares of the kernel
		known     bool
		unknown   bool
	}
	look := func(levels []*Level) side {
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
			return percent(s.low) + " kernel"
		}
		return percent(s.low) + " to " + percent(s.high) + " kernel"
	}
	return func(older, newer []*Level) (string, string, bool) {
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

// betweenLengths compares numbers of tokens: they differ if the mean or the
// median does by more than 5 % and by more than chance allows: 4 standard
// errors, as of independent requests.
func betweenLengths(of func(*Level) *analyze.Summary) func(older, newer []*Level) (o, n string, differ bool) {
	type lengths struct {
		n                   int
		mean, std, p50, p99 float64
	}
	pool := func(levels []*Level) lengths {
		var p lengths
		for _, l := range levels {
			d := of(l)
			if d == nil {
				continue
			}
			n := float64(d.N)
			p.n += d.N
			p.mean += n * d.Mean
			p.std += n * d.Std
			p.p50 += n * d.P(50)
			p.p99 += n * d.P(99)
		}
		if n := float64(p.n); n > 0 {
			p.mean, p.std, p.p50, p.p99 = p.mean/n, p.std/n, p.p50/n, p.p99/n
		}
		return p
	}
	describe := func(p lengths) string {
		if p.n == 0 {
			return unknown
		}
		return fmt.Sprintf("mean %.4g, p50 %.4g, p99 %.4g", p.mean, p.p50, p.p99)
	}
	return func(older, newer []*Level) (string, string, bool) {
		o, n := pool(older), pool(newer)
		if o.n == 0 && n.n == 0 {
			return "", "", false
		}
		if o.n == 0 || n.n == 0 { // one side knows: differ only if the other had requests
			lacking := older
			if n.n == 0 {
				lacking = newer
			}
			return describe(o), describe(n), slices.ContainsFunc(lacking, func(l *Level) bool { return l.OK > 0 })
		}
		se := math.Sqrt(o.std*o.std/float64(o.n) + n.std*n.std/float64(n.n))
		apart := func(a, b, errors float64) bool {
			return math.Abs(a-b) > max(0.05*max(a, b), errors*se)
		}
		// The median's standard error is 1.25 times the mean's for normal values.
		return describe(o), describe(n), apart(o.mean, n.mean, 4) || apart(o.p50, n.p50, 5)
	}
}

// betweenDurations compares how long the levels were and how many requests they
// had: they differ if the shortest and the longest do by more than a quarter.
func betweenDurations(older, newer []*Level) (o, n string, differ bool) {
	var seconds, requests []float64
	describe := func(levels []*Level) string {
		var s, q []float64
		for _, l := range levels {
			s, q = append(s, float64(l.DurationNS)/1e9), append(q, float64(l.OK+l.Failed))
		}
		seconds, requests = append(seconds, s...), append(requests, q...)
		return fmt.Sprintf("%s requests in %s s", span(q), span(s))
	}
	o, n = describe(older), describe(newer)
	apart := func(x []float64) bool { return len(x) > 0 && slices.Max(x) > 1.25*slices.Min(x) }
	return o, n, apart(requests) || apart(seconds) && !slices.Contains(seconds, 0)
}

// span writes the smallest and the largest value.
func span(x []float64) string {
	if len(x) == 0 {
		return "0"
	}
	low, high := fmt.Sprintf("%.4g", slices.Min(x)), fmt.Sprintf("%.4g", slices.Max(x))
	if low == high {
		return low
	}
	return low + " to " + high
}

// percent writes a share: "97.1%".
func percent(v float64) string { return strconv.FormatFloat(math.Round(1000*v)/10, 'f', -1, 64) + "%" }
