package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// document draws a figure as a file.
func document(t *testing.T, f *Figure) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed reads a picture as XML, and checks that it holds nothing that runs, nothing from elsewhere
// and no number that is none. It returns all text in it.
func wellFormed(t *testing.T, s string) string {
	t.Helper()
	var all strings.Builder
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			switch x.Name.Local {
			case "svg", "g", "path", "rect", "circle", "text", "tspan", "title", "desc", "style":
			default:
				t.Fatalf("element %s", x.Name.Local)
			}
			for _, a := range x.Attr {
				if name := a.Name.Local; strings.HasPrefix(name, "on") || name == "href" || name == "style" || strings.Contains(a.Value, "url(") {
					t.Fatalf("attribute %s=%q", name, a.Value)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Fatalf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			all.Write(x)
		case xml.Comment, xml.Directive, xml.ProcInst:
			t.Fatalf("token %v", x)
		}
	}
}

func line(values ...float64) []Point {
	var all []Point
	for i, v := range values {
		all = append(all, Point{X: float64(i), Y: v})
	}
	return all
}

// gallery holds a figure for each shape and scale; the golden files show them.
func gallery() []struct {
	name string
	f    Figure
} {
	nan := math.NaN()
	var tail, other []Point
	for i, q := range []float64{0, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9} {
		tail = append(tail, Point{X: q, Y: 40e6 + float64(i*i)*9e6})
		other = append(other, Point{X: q, Y: 60e6 + float64(i*i)*4e6})
	}
	cells := &Cells{X: []float64{0, 1e9, 2e9, 3e9}, Y: []float64{1e6, 10e6, 100e6}, Counts: []uint64{5, 0, 1200, 44, 3, 1}, Of: "gap"}
	return []struct {
		name string
		f    Figure
	}{
		{"percentiles", Figure{Title: "TTFT", Subtitle: "2,000 requests", Panels: []Panel{{
			X: Axis{Label: "percentile", Scale: Tail}, Y: Axis{Label: "TTFT", Unit: Nanoseconds, Scale: Log},
			Series: []Series{{Name: "old.json", Points: tail}, {Name: "new.json", Style: 1, Points: other}},
			Lines:  []Line{{At: 300e6, Label: "SLO 300 ms"}},
		}}}},
		{"shapes", Figure{Title: "Shapes", Columns: 2, Width: 900, Panels: []Panel{
			{Title: "lines", Y: Axis{Unit: "tokens/s"}, Series: []Series{{Name: "a", Shape: Lines, Points: line(1, 2, nan, 3, nan, 2, 4)}}},
			{Title: "steps", Series: []Series{{Name: "b", Style: 1, Shape: Steps, Points: line(1, 3, 3, nan, 2, 5)}}},
			{Title: "points", Series: []Series{{Name: "c", Style: 2, Shape: Points, Points: line(2, 4, 3)}}},
			{Title: "bars", X: Axis{Scale: Names, Names: []string{"timeout", "refused", "status 503"}}, Series: []Series{
				{Name: "d", Style: 3, Shape: Bars, Points: line(3, 0, 7)}, {Name: "e", Style: 4, Shape: Bars, Points: line(1, 2, 3)},
			}},
			{Title: "intervals", X: Axis{Label: "load"}, Series: []Series{{Name: "f", Style: 5, Points: []Point{
				{X: 1, Y: 4, YInterval: Interval{3, 5.5}, Label: "first"}, {X: 2, Y: 6, YInterval: Interval{5, math.Inf(1)}, XInterval: Interval{1.5, 2.25}, Label: "second"},
			}}}, Lines: []Line{{Vertical: true, At: 1.75, Band: Interval{1.6, 2.1}, Label: "limit"}}},
			{Title: "none", X: Axis{Label: "time", Unit: Nanoseconds}, Y: Axis{Label: "ITL", Unit: Nanoseconds}, NoData: "responses were not streamed"},
		}}},
		{"cells", Figure{Title: "ITL over time", Width: 480, Panels: []Panel{{
			X: Axis{Label: "time", Unit: Nanoseconds, Tight: true}, Y: Axis{Label: "ITL", Unit: Nanoseconds, Scale: Log, Tight: true}, Cells: cells,
		}}, Notes: []string{"the least and the most of each bin are kept"}}},
	}
}

func TestGolden(t *testing.T) {
	for _, tt := range gallery() {
		t.Run(tt.name, func(t *testing.T) {
			got := document(t, &tt.f)
			wellFormed(t, got)
			golden.File(t, filepath.Join("testdata", tt.name+".svg"), got, *update)
		})
	}
}

// The same figure gives the same bytes, also on one processor.
func TestSameBytes(t *testing.T) {
	for _, tt := range gallery() {
		want := document(t, &tt.f)
		before := runtime.GOMAXPROCS(1)
		got := document(t, &tt.f)
		runtime.GOMAXPROCS(before)
		if got != want {
			t.Errorf("%s: two pictures of one figure differ", tt.name)
		}
	}
}

// A picture in a page has no style of its own, which a strict policy of the page forbids, and its
// identifiers begin as the page says.
func TestInline(t *testing.T) {
	f := gallery()[0].f
	var b bytes.Buffer
	if err := f.WriteInline(&b, "ttft"); err != nil {
		t.Fatal(err)
	}
	s := b.String()
	wellFormed(t, s)
	if strings.Contains(s, "<style") {
		t.Error("the picture has a style sheet")
	}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(s, -1) {
		if !strings.HasPrefix(id[1], "ttft-") {
			t.Errorf("id %q", id[1])
		}
	}
	if !strings.Contains(s, `aria-labelledby="ttft-title ttft-desc"`) || !strings.Contains(s, `role="img"`) {
		t.Error("no name for screen readers")
	}
	// Every class has a rule, and every color of a rule is a property of both themes.
	rules := Rules()
	for _, m := range regexp.MustCompile(`class="([^"]*)"`).FindAllStringSubmatch(document(t, &gallery()[1].f)+s, -1) {
		for _, class := range strings.Fields(m[1]) {
			if class != "pa-figure" && !strings.Contains(rules, "."+class+"{") {
				t.Errorf("class %s has no rule", class)
			}
		}
	}
	for _, m := range regexp.MustCompile(`var\((--pa-[a-z0-9]+),`).FindAllStringSubmatch(rules, -1) {
		for _, theme := range []Theme{Light, Dark} {
			if !strings.Contains(theme.Properties(), m[1]+":#") {
				t.Errorf("theme %d lacks %s", theme, m[1])
			}
		}
	}
}

// Hostile text stays text, everywhere that a figure takes text.
func TestHostile(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, bad := range []string{
		`</title><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `&lt;b&gt;&#0;`, "]]>", "a\x00b\x1b[31m\u202egnp.exe", "\xff\xfe\uffff\ufffe", "<!--", long,
	} {
		f := Figure{Title: bad, Subtitle: bad, Desc: bad, Notes: []string{bad}, Panels: []Panel{
			{
				Title: bad, X: Axis{Label: bad}, Y: Axis{Label: bad, Unit: Unit(bad)},
				Series: []Series{{Name: bad, Points: []Point{{X: 1, Y: 2, Label: bad, Title: bad}, {X: 2, Y: 3}}}}, Lines: []Line{{At: 2, Label: bad}, {At: 900, Label: bad}, {At: 1.5, Vertical: true, Label: bad}},
			},
			{X: Axis{Scale: Names, Names: []string{bad, bad}}, NoData: bad},
			{Cells: &Cells{X: []float64{0, 1}, Y: []float64{0, 1}, Counts: []uint64{3}, Of: bad}},
		}}
		got := document(t, &f)
		text := wellFormed(t, got)
		if len(got) > 60_000 {
			t.Errorf("%.20q: %d bytes", bad, len(got))
		}
		if bad != long && bad[0] != '\xff' && bad[0] != 'a' && !strings.Contains(text, bad) {
			t.Errorf("the picture does not show %q", bad)
		}
		for _, r := range text {
			if r < ' ' && r != '\n' || r == '\u202e' || r == '\u202c' {
				t.Fatalf("%.20q: the picture holds %U", bad, r)
			}
		}
	}
}

// A line breaks at an absent value; a value between absent ones is a marker.
func TestBreaks(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name           string
		shape          Shape
		scale          Scale
		points         []Point
		moves, markers int
	}{
		{"whole", Lines, Linear, line(1, 2, 3), 1, 0},
		{"broken", Lines, Linear, line(1, 2, nan, 3, 4), 2, 0},
		{"alone", Lines, Linear, line(1, 2, nan, 3, nan, 5, 6), 2, 1},
		{"infinite", Lines, Linear, line(1, 2, math.Inf(1), 5, 6), 2, 0},
		{"0 on a logarithmic axis", Lines, Log, line(1, 2, 0, 5, 6), 2, 0},
		{"steps", Steps, Linear, line(1, 2, nan, 3, 4), 2, 0},
		{"one point", Lines, Linear, line(7), 0, 1},
		{"markers", LinePoints, Linear, line(1, nan, 2, 3), 1, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := document(t, &Figure{Panels: []Panel{{Y: Axis{Scale: tt.scale}, Series: []Series{{Shape: tt.shape, Points: tt.points}}}}})
			wellFormed(t, s)
			moves := 0
			if m := regexp.MustCompile(`<path d="([^"]*)" stroke="currentColor" stroke-width="1.8"`).FindStringSubmatch(s); m != nil {
				moves = strings.Count(m[1], "M")
			}
			if got := strings.Count(s, "<circle"); moves != tt.moves || got != tt.markers {
				t.Errorf("%d lines and %d markers, want %d and %d", moves, got, tt.moves, tt.markers)
			}
		})
	}
}

// Points are where the axes say: the corners of the panel are the ends of the axes.
func TestPlaces(t *testing.T) {
	s := document(t, &Figure{Width: 400, Panels: []Panel{{Height: 100, X: Axis{Tight: true}, Y: Axis{Tight: true}, Series: []Series{{Shape: Lines, Points: []Point{{X: 0, Y: 0}, {X: 2, Y: 5}, {X: 10, Y: 10}}}}}}})
	m := regexp.MustCompile(`d="M0 100L([0-9.]+) 50L([0-9.]+) 0" stroke`).FindStringSubmatch(s)
	axis := regexp.MustCompile(`d="M0 0V100H([0-9.]+)"`).FindStringSubmatch(s)
	if m == nil || axis == nil || m[2] != axis[1] {
		t.Fatalf("no line from corner to corner:\n%s", s)
	}
}

// A line leaves out the points that it passes anyway, and no other.
func TestNearLine(t *testing.T) {
	gap := [2]float64{math.NaN(), math.NaN()}
	for _, tt := range []struct {
		name string
		at   [][2]float64
		want string
	}{
		{"straight", [][2]float64{{0, 0}, {1, 1}, {2, 2}, {3, 3}}, "M0 0L3 3"},
		{"corner", [][2]float64{{0, 0}, {1, 0}, {2, 0}, {3, 5}, {4, 5}}, "M0 0L2 0L3 5L4 5"},
		{"slow bend", [][2]float64{{0, 0}, {1, 0.09}, {2, 0.3}, {3, 0.6}}, "M0 0L2 0.3L3 0.6"},
		{"gap", [][2]float64{{0, 0}, {1, 0}, {2, 0}, gap, {3, 0}, {4, 0}, {5, 0}}, "M0 0L2 0M3 0L5 0"},
		{"back and up", [][2]float64{{0, 0}, {1, 0}, {0.5, 0}, {0.5, 4}, {0.5, 8}}, "M0 0L1 0L0.5 0L0.5 4L0.5 8"},
	} {
		if got := path(tt.at, Lines); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	drawn := 0
	for range 200 {
		at := make([][2]float64, 100)
		for i := range at {
			at[i] = [2]float64{float64(i), 0}
			if i > 0 {
				at[i][1] = at[i-1][1] + r.ExpFloat64()*r.Float64()*0.3
			}
		}
		var line [][2]float64
		for _, v := range regexp.MustCompile(`[ML]([\d.]+) ([\d.]+)`).FindAllStringSubmatch(path(at, Lines), -1) {
			x, _ := strconv.ParseFloat(v[1], 64)
			y, _ := strconv.ParseFloat(v[2], 64)
			line = append(line, [2]float64{x, y})
		}
		drawn += len(line)
		k := 1
		for _, v := range at {
			for line[k][0] < v[0] {
				k++
			}
			a, b := line[k-1], line[k]
			if y := a[1] + (b[1]-a[1])*(v[0]-a[0])/(b[0]-a[0]); math.Abs(y-v[1]) > nearLine+0.01 {
				t.Fatalf("the line passes (%g, %g) at %g", v[0], v[1], y)
			}
		}
	}
	if drawn > 200*50 {
		t.Errorf("%d of 20,000 points are drawn", drawn)
	}
}

// A picture says which values are beyond its axes.
func TestSaid(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"no data", "no data (all requests failed)"},
		{"0 and below", "2 points at 0 or below cannot be drawn on a logarithmic axis"},
		{"far line", "↑ SLO 10 s"},
		{"summary", "TTFT: x: load from 0 to 4; y: TTFT from 10 ms to 40 ms; a.json: 3 points from 10 ms to 40 ms"},
		{"hover", "a.json\nload: 1\nTTFT: 20 ms (18 ms to 25 ms)"},
		{"many names", "and 8 more"},
	} {
		var many []Series
		for i := range 40 {
			many = append(many, Series{Name: fmt.Sprint("run ", i), Style: i, Points: line(1, 2)})
		}
		f := map[string]Figure{
			"no data":     {Panels: []Panel{{Series: []Series{{Points: line(math.NaN())}}, NoData: "all requests failed"}}},
			"0 and below": {Panels: []Panel{{Y: Axis{Scale: Log}, Series: []Series{{Points: line(0, 1, 2, -1)}}}}},
			"far line":    {Panels: []Panel{{Y: Axis{Unit: Nanoseconds}, Series: []Series{{Points: line(1e6, 2e6)}}, Lines: []Line{{At: 10e9, Label: "SLO 10 s"}}}}},
			"many names":  {Panels: []Panel{{Series: many}}},
		}[tt.name]
		if f.Panels == nil {
			f = Figure{Panels: []Panel{{X: Axis{Label: "load", Ticks: []float64{}}, Y: Axis{Label: "TTFT", Unit: Nanoseconds}, Series: []Series{{Name: "a.json", Points: []Point{{X: 0, Y: 10e6}, {X: 1, Y: 20e6, YInterval: Interval{18e6, 25e6}}, {X: 4, Y: 40e6}}}}}}}
		}
		if text := wellFormed(t, document(t, &f)); !strings.Contains(text, tt.want) {
			t.Errorf("%s: the picture lacks %q:\n%s", tt.name, tt.want, text)
		}
	}
}

// Series of one name and style have one entry in the legend, also across panels.
func TestLegend(t *testing.T) {
	one := Series{Name: "a.json", Points: line(1, 2)}
	other := Series{Name: "b.json", Style: 1, Points: line(2, 3)}
	s := document(t, &Figure{Panels: []Panel{{Series: []Series{one, other}}, {Series: []Series{other, one, {Points: line(1, 1)}}}}})
	for _, name := range []string{"a.json", "b.json"} {
		if n := strings.Count(s, ">"+name+"</text>"); n != 1 {
			t.Errorf("%s is in the legend %d times", name, n)
		}
	}
}

func TestKey(t *testing.T) {
	for _, tt := range []struct {
		most uint64
		want string
	}{
		{1, "1"}, {3, "1 2 3"}, {7, "1 2 3 4 5 6 7"}, {8, "1–2 3 4 5 6 7–8"}, {3000, "1–4 5–10 11–31 32–98 99–305 306–956 957–3,000"}, {math.MaxUint64, ""},
	} {
		var names []string
		next := uint64(1)
		for _, k := range heatKey(tt.most) {
			names = append(names, k.name())
			if k.from != next || k.to < k.from {
				t.Errorf("key of %d: step from %d to %d, want from %d", tt.most, k.from, k.to, next)
			}
			next = k.to + 1
		}
		if next-1 != tt.most {
			t.Errorf("key of %d ends at %d", tt.most, next-1)
		}
		if got := strings.Join(names, " "); tt.want != "" && got != tt.want {
			t.Errorf("key of %d: %s, want %s", tt.most, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		text   string
		pixels float64
		most   int
		want   string
	}{
		{"", 100, 2, ""},
		{"one two three", 1000, 2, "one two three"},
		{"one two three", 60, 3, "one two|three"},
		{"one two three four", 60, 2, "one two|three…"},
		{"abcdefghijklmnopqrst", 60, 9, "abcdefgh|ijklmnop|qrst"},
		{"東京東京東京", 30, 9, "東京|東京|東京"},
		{"wide", 1, 2, "w|…"},
	} {
		lines := wrap(tt.text, 12, tt.pixels, tt.most)
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("wrap(%q, %v) = %q, want %q", tt.text, tt.pixels, got, tt.want)
		}
	}
}

// Any figure is a well-formed picture.
func FuzzFigure(f *testing.F) {
	f.Add("a.json", 1.0, 2.0, 3.0, 0, 0, 0, 400)
	f.Add("<&\u202e\x00", math.NaN(), math.Inf(1), -1e308, 1, 1, 3, 10)
	f.Add("", 0.0, 5e-324, 1e300, 63, 2, 4, -5)
	f.Add("x", 1e300, 1.0000000001e300, 99.9999, 2, 3, 1, 9000)
	f.Fuzz(func(t *testing.T, name string, a, b, c float64, style, scale, shape, width int) {
		scales := []Scale{Linear, Log, Tail, Names}
		one := Series{Name: name, Style: max(0, style), Shape: Shape(max(0, shape) % 5), Points: []Point{
			{X: a, Y: b, YInterval: Interval{b, c}, Label: name}, {X: b, Y: c, XInterval: Interval{a, b}, Title: name}, {X: c, Y: a},
		}}
		x, y := scales[max(0, scale)%4], scales[max(0, scale/4)%4]
		fig := Figure{Title: name, Width: min(width, 5000), Columns: width % 4, Panels: []Panel{
			{X: Axis{Label: name, Scale: x, Names: []string{name, "b"}}, Y: Axis{Scale: y, Unit: Nanoseconds}, Series: []Series{one}, Lines: []Line{{At: a, Label: name, Band: Interval{b, c}}, {At: b, Vertical: true, Band: Interval{a, math.Inf(1)}}}},
			{X: Axis{Scale: y, Tight: true}, Y: Axis{Scale: x, Tight: true}, Cells: &Cells{X: []float64{a, b}, Y: []float64{b, c, a}, Counts: []uint64{1, 7}}, Series: []Series{one}},
		}}
		wellFormed(t, document(t, &fig))
	})
}
