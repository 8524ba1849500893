package publish

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// influx writes the line protocol: a measurement for each name, tags for what tells its figures apart, and a field for each statistic.
// The field of a figure without a statistic is "value".
func influx(runs []*Run) sheet.Renderer {
	return func(w io.Writer) error {
		b := bufio.NewWriter(w)
		names := distinctNames(runs)
		for i, r := range runs {
			for j := range r.Levels {
				l := &r.Levels[j]
				fields, head := []label(nil), ""
				end := func() {
					if fields == nil {
						return
					}
					separator := " "
					fmt.Fprint(b, head)
					for _, f := range fields {
						fmt.Fprint(b, separator, f.name, "=", f.value)
						separator = ","
					}
					fmt.Fprint(b, " ", nanos(l.End), "\n")
					fields = nil
				}
				for k := range l.Figures {
					f := &l.Figures[k]
					own := *f
					own.Statistic = ""
					next := prefix + f.Name
					for _, x := range labels(names[i], r, l, &own) {
						next += "," + x.name + "=" + influxTag(x.value)
					}
					if next != head {
						end()
						head = next
					}
					name := "value"
					if f.Statistic != "" {
						name = influxTag(f.Statistic)
					}
					if !slices.ContainsFunc(fields, func(x label) bool { return x.name == name }) { // else the file states the figure twice
						fields = append(fields, label{name, f.Text})
					}
				}
				end()
			}
		}
		return b.Flush()
	}
}

// influxEscaper escapes what ends a tag or a field.
var influxEscaper = strings.NewReplacer(",", `\,`, "=", `\=`, " ", `\ `)

// influxTag escapes a tag's value or a field's name. A line break cannot be escaped, nor a backslash at the end.
func influxTag(s string) string {
	s = influxEscaper.Replace(sanitize.Text(s))
	if strings.HasSuffix(s, `\`) {
		s += "_"
	}
	return s
}
