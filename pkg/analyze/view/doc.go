// Package view collects what pictures of a recorded run show, as plain data: distributions, series
// over time, heat maps of the gaps between tokens, first tokens against prompts, and requests for a
// waterfall.
//
//	run, err := view.Collect(ctx, r, view.Config{Name: "run.json"})
//	for i := range run.Levels {
//		draw(run.Levels[i].Distributions, run.Levels[i].Requests)
//	}
//
// [Collect] reads the file once, together with [analyze.Run], and its figures are the figures of the
// report. Memory is bounded: it does not grow with the number of tokens. With the number of requests
// it grows by 16 bytes for each, besides what package analyze needs.
//
// A time is an int64 in nanoseconds from [Run.OriginNS]. Absent is [Absent] in a field of integers
// and NaN in a series, and never 0.
//
// Values of a series are counted in bins of equal width. The end of a run is not known while it is
// read, so the width begins at a microsecond and doubles whenever the bins are too many. Other series
// leave values out where they have too many, and keep the minimum and the maximum of each stretch of
// time. Fields named LeftOut say how many.
//
// The result depends on the file alone, so that pictures have the same bytes each time.
package view
