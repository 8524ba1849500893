package endpoints

import (
	"bytes"

	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

const giveEvents = "events.jsonl from the folder of the report"

// filesBeside lists the files that mlcommons/endpoints writes beside its events.
func filesBeside() []resultfile.Neighbour {
	return []resultfile.Neighbour{
		{
			Is:   func(o *resultfile.Outline) bool { return o.Has("test_started_at", "n_samples_issued") },
			What: "result_summary.json of mlcommons/endpoints", Holds: "statistics", Give: giveEvents,
		},
		{
			Is: func(o *resultfile.Outline) bool {
				return bytes.HasPrefix(o.Head, []byte("----------------- Summary ---"))
			},
			What: "report.txt of mlcommons/endpoints", Holds: "statistics", Give: giveEvents,
		},
		{
			Is:   func(o *resultfile.Outline) bool { return o.Only("performance") && !o.Array },
			What: "sample_idx_map.json of mlcommons/endpoints", Holds: "which row of the data set was sent", Give: giveEvents,
		},
	}
}
