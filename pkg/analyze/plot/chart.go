package plot

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/svg"
	"github.com/pa-tools/pa/pkg/analyze/view"
)

// Options are the settings that charts share.
type Options struct {
	Width int // of the picture in pixels; 0 for the default of the chart
	// Bins has the bins of heat maps by the name of the level, which charts share so that they can be compared;
	// nil for bins of the runs of the chart.
	Bins map[string]*HeatmapBins
}

// narrow is the width below which panels are in one column.
const narrow = 620

// wide returns the width of a chart with panels side by side, and the number of columns.
func (o Options) wide() (width, columns int) {
	width = cmp.Or(o.Width, 960)
	if width < narrow {
		return width, 1
	}
	return width, 2
}

// mostCurves is the number of curves that a panel shows at most.
const mostCurves = 12

// A curve is a level of a run among the curves of a chart.
type curve struct {
	run   *view.Run
	level *view.Level
	name  string // in the legend
	style int
}

// curves returns the levels of all runs, and a note if there are more than most: then evenly spread ones.
func curves(runs []*view.Run, most int) (all []curve, note string) {
	names := runNames(runs)
	several := slices.ContainsFunc(runs, func(r *view.Run) bool { return len(r.Levels) > 1 })
	for i, r := range runs {
		for j := range r.Levels {
			l := &r.Levels[j]
			name := report.LevelName(l.Experiment)
			switch {
			case len(runs) == 1:
			case several:
				name = names[i] + ", " + name
			default:
				name = names[i]
			}
			all = append(all, curve{r, l, name, len(all)})
		}
	}
	n := len(all)
	if n <= most {
		return all, ""
	}
	var kept []curve
	for i := range most {
		c := all[i*(n-1)/(most-1)]
		c.style = i
		kept = append(kept, c)
	}
	return kept, fmt.Sprintf("%d of %s are shown; --experiment chooses others.", most, plural.Of(n, "level"))
}

// runNames returns a short name for each run, no two alike: the file name, or as much of the path as
// differs.
func runNames(runs []*view.Run) []string {
	var paths []string
	for _, r := range runs {
		paths = append(paths, r.Name)
	}
	return shortNames(paths)
}

// shortNames returns the base names of paths if they differ, else the paths without the folders that all
// have. Equal paths get a number.
func shortNames(paths []string) []string {
	short := func(cut func(string) string) []string {
		var all []string
		seen := map[string]bool{}
		for _, p := range paths {
			name := cut(p)
			if seen[name] {
				return nil
			}
			seen[name] = true
			all = append(all, name)
		}
		return all
	}
	slash := filepath.ToSlash
	if all := short(func(p string) string { return path.Base(slash(p)) }); all != nil {
		return all
	}
	shared := ""
	for i, p := range paths {
		dir := slash(p)[:strings.LastIndexByte(slash(p), '/')+1]
		for i > 0 && !strings.HasPrefix(dir, shared) {
			shared = shared[:strings.LastIndexByte(strings.TrimSuffix(shared, "/"), '/')+1]
		}
		if i == 0 {
			shared = dir
		}
	}
	if all := short(func(p string) string { return strings.TrimPrefix(slash(p), shared) }); all != nil {
		return all
	}
	var all []string
	count := map[string]int{}
	for _, p := range paths {
		name := strings.TrimPrefix(slash(p), shared)
		count[name]++
		if n := count[name]; n > 1 {
			name += fmt.Sprintf(" (%d)", n)
		}
		all = append(all, name)
	}
	return all
}

// requests returns how many requests a chart is about: "1,200 requests of 2 runs, 3 failed".
func requests(runs []*view.Run) string {
	ok, failed := 0, 0
	for _, e := range experiments(runs) {
		ok += e.OK
		failed += e.FailedRequests()
	}
	s := plural.GroupedOf(ok, "successful request")
	if len(runs) > 1 {
		s += " of " + plural.Of(len(runs), "run")
	}
	if failed > 0 {
		s += "; " + plural.Grouped(failed) + " failed"
	}
	return s + "."
}

// sentences joins the sentences that are not empty.
func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// latencyAxis returns an axis for latencies: logarithmic if the values spread over more than a factor of
// 20, else from 0.
func latencyAxis(label string, values []float64) svg.Axis {
	a := svg.Axis{Label: label, Unit: svg.Nanoseconds}
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if high > 20*low {
		a.Scale = svg.Log
	} else {
		a.Include = []float64{0}
	}
	return a
}

// ys returns the values of all series.
func ys(series []svg.Series) (all []float64) {
	for i := range series {
		for _, p := range series[i].Points {
			all = append(all, p.Y)
		}
	}
	return all
}

// whyUntimed returns the reason why the levels have nothing over time, otherwise if there is none.
func whyUntimed(runs []*view.Run, otherwise string) string {
	for _, r := range runs {
		for i := range r.Levels {
			if s := r.Levels[i].Untimed; s != "" {
				return s
			}
		}
	}
	return otherwise
}

// why returns the reason why the levels lack a figure with a key, as the reports state it; otherwise if
// they do not.
func why(runs []*view.Run, key, otherwise string) string {
	succeeded := false
	for _, e := range experiments(runs) {
		for _, u := range e.Unavailable {
			if u.Key == key {
				return u.Why
			}
		}
		succeeded = succeeded || e.OK > 0
	}
	if succeeded {
		return otherwise
	}
	return "no request succeeded"
}

// A mark is a candidate for a point of a chart. It takes far less memory than an [svg.Point], and thin leaves out most
// marks of a large run.
type mark struct {
	x, y float64
	id   uint64 // of the request, for requestPoints
}

// points returns the points of marks.
func points(marks []mark) (all []svg.Point) {
	for _, m := range marks {
		all = append(all, svg.Point{X: m.x, Y: m.y})
	}
	return all
}

// requestPoints returns the points of marks, each named after its request.
func requestPoints(marks []mark) []svg.Point {
	all := points(marks)
	for i, m := range marks {
		all[i].Title = fmt.Sprintf("request %d", m.id)
	}
	return all
}

// thin leaves at most about most marks. It divides x into most/2 stretches of equal length and keeps two marks of
// each: the first with the least y and the first with the greatest y. A mark without y stays if a stretch has
// no other mark. thin returns the kept marks in the order of x, and the number of marks left out. It may reorder marks.
func thin(marks []mark, most int) (kept []mark, leftOut int) {
	byX := func(a, b mark) int { return cmp.Compare(a.x, b.x) }
	if !slices.IsSortedFunc(marks, byX) {
		slices.SortStableFunc(marks, byX)
	}
	n := len(marks)
	if n <= most {
		return marks, 0
	}
	stretches := float64(max(1, most/2))
	first := marks[0].x
	span := marks[n-1].x - first
	stretch := func(i int) float64 {
		if !(span > 0) {
			return 0
		}
		return min(math.Floor((marks[i].x-first)/span*stretches), stretches-1)
	}
	for from := 0; from < n; {
		s, least, greatest, to := stretch(from), from, from, from
		for ; to < n && stretch(to) == s; to++ {
			y := marks[to].y
			if math.IsNaN(marks[least].y) || y < marks[least].y {
				least = to
			}
			if math.IsNaN(marks[greatest].y) || y > marks[greatest].y {
				greatest = to
			}
		}
		a, b := min(least, greatest), max(least, greatest)
		kept = append(kept, marks[a])
		if a != b {
			kept = append(kept, marks[b])
		}
		from = to
	}
	return kept, n - len(kept)
}
