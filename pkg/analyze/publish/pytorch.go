package publish

import (
	"cmp"
	"encoding/json"

	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// pytorch writes the records of PyTorch's benchmark database, schema v3, as an array: a record for each figure. Members about the
// repository and the runner are left to the uploader, which adds them.
func pytorch(runs []*Run) sheet.Renderer {
	records := []sheet.Object{}
	names := distinctNames(runs)
	for i, r := range runs {
		for j := range r.Levels {
			l := &r.Levels[j]
			for k := range l.Figures {
				f := &l.Figures[k]
				name := f.Name
				if f.Statistic != "" {
					name += "_" + f.Statistic
				}
				// The database keeps texts here, and shows records with other texts as other lines.
				about := sheet.Object{"run", names[i], "definitions", r.Definitions, "tool", r.Tool, "level", l.Name, "mode", sheet.Opt(l.Mode), "load", sheet.Opt(l.Value)}
				records = append(records, sheet.Object{
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
				})
			}
		}
	}
	return sheet.JSON(records)
}
