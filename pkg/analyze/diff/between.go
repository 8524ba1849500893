package diff

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// betweenSources compares the shares of kernel stamps. The sides differ if the shares of
// all their levels span more than 5 points, or if the sources are known at some levels
// and mostly unknown at others.
func betweenSources(of func(*Level) *analyze.Stamps) func(older, newer []*Level) (o, n string, differ bool) {
	const points = 0.05
	type side struct {
		low, high float64 // shares of kernel stamps
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
			return sheet.Share(s.low) + " kernel"
		}
		return sheet.Share(s.low) + " to " + sheet.Share(s.high) + " kernel"
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

// betweenLengths compares the distributions of numbers of tokens. They differ if the
// means are more than 5 % and more than 4 standard errors apart, for independent
// requests, or if a percentile differs: see apartAt. The percentiles of several runs are
// averaged.
func betweenLengths(of func(*Level) *analyze.Summary) func(older, newer []*Level) (o, n string, differ bool) {
	type lengths struct {
		n         int
		mean, std float64
		pct       [len(lengthLevels)]float64
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
	describe := func(p lengths, some bool) string {
		switch {
		case !some:
			return noRequests
		case p.n == 0:
			return unknown
		}
		return fmt.Sprintf("mean %.4g, p10 %.4g, p50 %.4g, p90 %.4g", p.mean, p.pct[1], p.pct[3], p.pct[5])
	}
	return func(older, newer []*Level) (string, string, bool) {
		o, n := pool(older), pool(newer)
		if o.n == 0 || n.n == 0 { // one side knows: differ only if the other had requests
			some := func(levels []*Level) bool {
				return slices.ContainsFunc(levels, func(l *Level) bool { return l.OK > 0 })
			}
			return describe(o, some(older)), describe(n, some(newer)), o.n+n.n > 0 && some(older) && some(newer)
		}
		se := math.Sqrt(o.std*o.std/float64(o.n) + n.std*n.std/float64(n.n))
		differ := math.Abs(o.mean-n.mean) > max(0.05*max(o.mean, n.mean), 4*se)
		for q := 1; q < len(lengthLevels)-1; q++ {
			differ = differ || apartAt(q, o.pct, n.pct, se)
		}
		return describe(o, true), describe(n, true), differ
	}
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
func betweenCalibrations(older, newer []*Level) (o, n string, differ bool) {
	const factor, atLeastNS = 2, 10_000
	type errors struct{ received, started []float64 }
	gather := func(levels []*Level) (e errors) {
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
// a level has no settings, nothing is compared. What --extra-body set is named among the
// parameters of requests if these are known.
func betweenSettings(older, newer []*Level) (o, n string, differ bool) {
	if slices.ContainsFunc(slices.Concat(older, newer), func(l *Level) bool { return l.settings == nil }) {
		return unknown, unknown, false
	}
	skip := otherwise
	if promptsKnown(older) && promptsKnown(newer) {
		skip = maps.Clone(otherwise)
		skip["extra_body"] = true
	}
	return betweenNamed(older, newer, func(l *Level) map[string]string { return l.settings }, skip)
}

// betweenDurations compares the durations of the levels and their numbers of requests.
// The sides differ if the largest of all levels is more than a quarter above the
// smallest. Durations are not compared if one of them is 0.
func betweenDurations(older, newer []*Level) (o, n string, differ bool) {
	var seconds, requests []float64
	describe := func(levels []*Level) string {
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
