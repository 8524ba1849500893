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

// A family is the lines of a metric in OpenMetrics.
type family struct {
	kind, unit, help string
	lines            strings.Builder
	seen             map[string]bool // labels that have a line
}

// openMetrics writes OpenMetrics 1.0: a gauge for each name, and the histograms. The time of a line is the end of its level.
func openMetrics(runs []*Run) sheet.Renderer {
	return func(w io.Writer) error {
		families := map[string]*family{}
		var order []string
		open := func(name, kind, unit, help string) *family {
			f := families[name]
			if f == nil {
				f = &family{kind: kind, unit: unit, help: help, seen: map[string]bool{}}
				families[name] = f
				order = append(order, name)
			}
			return f
		}
		names := distinctNames(runs)
		for i, r := range runs {
			for j := range r.Levels {
				l := &r.Levels[j]
				at := seconds(l.End)
				for k := range l.Figures {
					x := &l.Figures[k]
					f := open(prefix+x.Name, "gauge", x.Unit, x.Help)
					set := labelSet(labels(names[i], r, l, x))
					if f.seen[set] { // the file states the figure twice
						continue
					}
					f.seen[set] = true
					fmt.Fprintf(&f.lines, "%s%s{%s} %s %s\n", prefix, x.Name, set, x.Text, at)
				}
				for k := range l.Histograms {
					h := &l.Histograms[k]
					f := open(prefix+h.Name, "histogram", h.Unit, h.Help)
					set := labelSet(labels(names[i], r, l, &Figure{Model: r.Model}))
					for b, bound := range append(h.Bounds[:len(h.Bounds):len(h.Bounds)], "+Inf") {
						n := h.N
						if b < len(h.AtMost) {
							n = h.AtMost[b]
							bound = withPoint(bound)
						}
						fmt.Fprintf(&f.lines, "%s%s_bucket{%s,le=\"%s\"} %d %s\n", prefix, h.Name, set, bound, n, at)
					}
					fmt.Fprintf(&f.lines, "%s%s_count{%s} %d %s\n", prefix, h.Name, set, h.N, at)
					fmt.Fprintf(&f.lines, "%s%s_sum{%s} %s %s\n", prefix, h.Name, set, h.sum(), at)
				}
			}
		}
		b := bufio.NewWriter(w)
		for _, name := range order {
			f := families[name]
			fmt.Fprintf(b, "# TYPE %s %s\n", name, f.kind)
			if f.unit != "" {
				fmt.Fprintf(b, "# UNIT %s %s\n", name, f.unit)
			}
			if f.help != "" {
				fmt.Fprintf(b, "# HELP %s %s\n", name, labelEscaper.Replace(strings.ToValidUTF8(f.help, "�")))
			}
			fmt.Fprint(b, f.lines.String())
		}
		fmt.Fprint(b, "# EOF\n")
		return b.Flush()
	}
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
