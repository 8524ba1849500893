package sql

import (
	"fmt"
	"math"
	"strings"

	"github.com/pa-tools/pa/pkg/analyze"
)

// placeInstant is the instant that places a request in a window, as [analyze.LevelWindows] says.
const placeInstant = "coalesce(nullif(start_ns, 0), issued_ns, scheduled_ns, ended_ns, 0)"

// windowRows returns the rows of the view windows: level, window_number, from_ns, to_ns.
func windowRows(levels []analyze.LevelWindows) string {
	var rows []string
	for _, l := range levels {
		for i, w := range l.Windows {
			to := min(w.ToNS, math.MaxInt64)
			if w.ToNS == l.Level.ToNS && to < math.MaxInt64 {
				to++ // the last instant of the level belongs to its last window
			}
			rows = append(rows, fmt.Sprintf("  (%d, %d, %d, %d)", l.Index, i, min(w.FromNS, math.MaxInt64), to))
		}
	}
	return strings.Join(rows, ",\n")
}

// rowsOf returns a query of rows of the view windows, in standard SQL.
func rowsOf(rows string) string {
	return "SELECT * FROM (VALUES\n" + rows + "\n) AS t (level, window_number, from_ns, to_ns)"
}

// withoutWindows returns why a metric has no query for windows, and which command computes it; "" for any other name.
func withoutWindows(name string) string {
	if name == "throughput" {
		return "the tokens of a request belong to the windows in which they came, not to the window of its start; pa-analyze report --windows computes it"
	}
	return ""
}
