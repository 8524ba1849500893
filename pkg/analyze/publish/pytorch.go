package publish

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// pytorch writes the records of PyTorch's benchmark database, schema v3, as an array: a record for each figure. Members about the
// repository and the runner are left to the uploader, which adds them.
func pytorch(runs []*Run) sheet.Renderer {
	return func(w io.Writer) error {
		b := bufio.NewWriter(w)
		names := distinctNames(runs)
		before, end := "[", "[]\n"
		for i, r := range runs {
			for j := range r.Levels {
				l := &r.Levels[j]
				for k := range l.Figures {
					record, err := json.MarshalIndent(pytorchRecord(names[i], r, l, &l.Figures[k]), "  ", "  ")
					if err != nil {
						return err
					}
					_, _ = b.WriteString(before + "\n  ") // Flush returns the error
					_, _ = b.Write(sanitize.JSON(record))
					before, end = ",", "\n]\n"
				}
			}
		}
		_, _ = b.WriteString(end)
		return b.Flush()
	}
}

// pytorchRecord returns the record of a figure.
func pytorchRecord(run string, r *Run, l *Level, f *Figure) sheet.Object {
	name := f.Name
	if f.Statistic != "" {
		name += "_" + f.Statistic
	}
	// The database keeps texts here, and shows records with other texts as other lines.
	about := sheet.Object{"run", run, "definitions", r.Definitions, "tool", r.Tool, "level", l.Name, "mode", sheet.Opt(l.Mode), "load", sheet.Opt(l.Value)}
	return sheet.Object{
		"benchmark",
		sheet.Object{"name", "pa-analyze", "mode", "inference", "extra_info", about},
		"model",
		sheet.Object{"name", cmp.Or(f.Model, "not known")},
		"metric",
		sheet.Object{
			"name", name, "benchmark_values",
			[]json.Number{json.Number(f.Text)},
			"extra_info",
			sheet.Object{"unit", sheet.Opt(f.Unit), "of", sheet.Opt(f.Of)},
		},
	}
}
