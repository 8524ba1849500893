// Package pawindow holds perf_analyzer's rules of measurement: what belongs to a
// window, what a window comes to, and when a load level has been measured for long
// enough. They are pure: the recorder steers by them while it measures, and
// analysis comes to the same from an export.
//
//	v := pawindow.Rule{Spread: 0.1, MaxTrials: 10}.Judge(len(passes), passes)
//	if v.Done { … v.Stable … }
//
// Windows of a level follow each other without a gap; the window_boundaries of an
// export are the n+1 instants of n of them. A request belongs to the window in
// which it ends: when its last response came, or the one before if the last only
// says that there is no more (see [NullLast]). When it started does not matter.
// What is reported of a level are its last windows, [StableOver] of them, taken
// together.
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
// time.Duration. Stats hold the latencies they are given; who cannot afford 8
// bytes a request fills a [Summary] by himself.
package pawindow
