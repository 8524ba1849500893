package trace

import (
	"context"

	"github.com/pa-tools/pa/pkg/analyze/serverfigures"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// mostSeries is the number of series of one source that the trace shows.
const mostSeries = 200

// writeTelemetry writes the series of each source, in processes from pid on. It returns the number
// of series that are left out because their source has too many.
func writeTelemetry(ctx context.Context, w *writer, r export.Reader, pid int, origin uint64) (leftOut int, err error) {
	pids := map[string]int{}
	courses := serverfigures.NewCourses(mostSeries)
	err = r.Scrapes(ctx, func(s *export.Scrape) error {
		if s.Error != "" {
			return nil
		}
		if _, known := pids[s.Source]; !known {
			pids[s.Source] = pid
			w.name("process", pid, 0, "server metrics: "+s.Source, pid)
			pid++
		}
		if answer.Elapsed(origin, s.StartNS).OK && answer.Elapsed(origin, s.EndNS).OK { // else a time is damaged
			courses.Add(s, func(x *serverfigures.Course, at uint64, v float64) {
				w.counter(x.Label(), pids[s.Source], int64(at-origin), v)
			})
		}
		return w.err
	})
	for _, l := range courses.LeftOut {
		leftOut += l.Series
	}
	return leftOut, err
}
