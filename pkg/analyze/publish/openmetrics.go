package publish

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// prefix begins the names of all metrics.
const prefix = "pa_"

// openMetrics writes OpenMetrics 1.0: a gauge for each name, and the histograms. The time of a line is the end of its level.
func openMetrics(runs []*Run) sheet.Renderer {
	return func(w io.Writer) error {
		b := bufio.NewWriter(w)
		names := distinctNames(runs)
		for _, g := range grouped(runs, func(f *Figure) string { return prefix + f.Name }, func(h *Histogram) string { return prefix + h.Name }) {
			g.openFamily(b, runs)
			seen := map[string]bool{} // labels that have a line
			for _, p := range g.places {
				r, l, f, h := p.at(runs)
				if h != nil {
					h.openLines(b, labelSet(labels(names[p.run], r, l, &Figure{Model: r.Model})), seconds(l.End))
					continue
				}
				set := labelSet(labels(names[p.run], r, l, f))
				if seen[set] { // the file states the figure twice
					continue
				}
				seen[set] = true
				fmt.Fprintf(b, "%s{%s} %s %s\n", g.name, set, f.Text, seconds(l.End))
			}
		}
		fmt.Fprint(b, "# EOF\n")
		return b.Flush()
	}
}

// openFamily writes the lines before the values of a name: its type, unit and help.
func (g *group) openFamily(b *bufio.Writer, runs []*Run) {
	var kind, unit, help string
	if _, _, f, h := g.places[0].at(runs); h != nil {
		kind, unit, help = "histogram", h.Unit, h.Help
	} else {
		kind, unit, help = "gauge", f.Unit, f.Help
	}
	fmt.Fprintf(b, "# TYPE %s %s\n", g.name, kind)
	if unit != "" {
		fmt.Fprintf(b, "# UNIT %s %s\n", g.name, unit)
	}
	if help != "" {
		fmt.Fprintf(b, "# HELP %s %s\n", g.name, labelEscaper.Replace(strings.ToValidUTF8(help, "�")))
	}
}

// openLines writes the lines of a histogram.
func (h *Histogram) openLines(b *bufio.Writer, set, at string) {
	for i, bound := range append(h.Bounds[:len(h.Bounds):len(h.Bounds)], "+Inf") {
		n := h.N
		if i < len(h.AtMost) {
			n = h.AtMost[i]
			bound = withPoint(bound)
		}
		fmt.Fprintf(b, "%s%s_bucket{%s,le=\"%s\"} %d %s\n", prefix, h.Name, set, bound, n, at)
	}
	fmt.Fprintf(b, "%s%s_count{%s} %d %s\n", prefix, h.Name, set, h.N, at)
	fmt.Fprintf(b, "%s%s_sum{%s} %s %s\n", prefix, h.Name, set, h.sum(), at)
}

// sum returns the sum of the values.
func (h *Histogram) sum() string { return strconv.FormatFloat(h.Mean*float64(h.N), 'f', -1, 64) }

// withPoint returns a bound as OpenMetrics has it: "1.0" for 1.
func withPoint(number string) string {
	if strings.ContainsAny(number, ".e") {
		return number
	}
	return number + ".0"
}

// labelSet returns labels as they are between braces.
func labelSet(all []label) string {
	var b strings.Builder
	for i, x := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(x.name + `="` + labelEscaper.Replace(x.value) + `"`)
	}
	return b.String()
}

// labelEscaper escapes a value for double quotes.
var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// seconds returns a time as the seconds since 1970, with milliseconds, which is what Prometheus keeps.
func seconds(t time.Time) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
}
