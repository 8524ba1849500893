// Package pawindow holds perf_analyzer's rules of measurement: which requests belong to
// a window, the statistics of a window, and when a load level is stable. The rules are
// pure functions: the recorder applies them while it measures, and the analysis of an
// export gets the same results.
//
//	v := pawindow.Rule{Spread: 0.1, MaxTrials: 10}.Judge(len(passes), passes)
//	if v.Done { … v.Stable … }
//
// Windows of a level have no gaps between them; the window_boundaries of an
// export are the n+1 instants of n windows. A request belongs to the window in which it
// ends, wherever it started. It ends with its last response, or with the response before if
// the last only marks the end (see [NullLast]). A level's report merges its last
// [StableOver] windows.
//
//	windows := pawindow.Cut(boundaries)
//	stats := make([]pawindow.Stats, len(windows))
//	for … {
//		end, responses, ok := pawindow.End(r, pawindow.NullLast(r, openAI))
//		if i := pawindow.Find(windows, end); ok && i >= 0 {
//			stats[i].Add(time.Duration(end-r.StartNS), responses)
//		}
//	}
//	…
//	all := pawindow.Merge(pawindow.Reported(stats))
//	s := all.Summary(pawindow.Percentiles(-1))
//
// Instants are Unix nanoseconds. Throughput is per second, latency a
// time.Duration. Stats keep every latency, 8 bytes a request; a caller that cannot
// afford them fills a [Summary] itself.
package pawindow
