// Package resultfile has the common parts of the readers of other tools' result files. Each tool has a
// [Kind], which recognizes its file and opens it as a run with a [Source] of the requests:
//
//	o := export.Opener{Formats: resultfile.Formats(guidellm.ResultFile())}
//	r, err := o.Open(ctx, "benchmarks.json")
//
// No such file holds all that a recording holds. [export.Import] of the run names the
// missing parts. A number that a file states without its data, such as tokens without
// texts, is in [export.Stated] of the request. Nothing is invented: all requests of a
// file without start times are at one instant, and [export.Import] says so.
//
// Times are whole nanoseconds. Tools that write seconds as floats took them from
// clocks of that resolution, so the nearest nanosecond is the clock's reading if the
// float has enough digits. A Unix time in seconds has steps of 238 ns.
//
// Some files also hold figures about their requests, or the tool writes such figures
// into another file of the folder ([export.Summarized]). The source computes them
// again by the tool's formulas, and warns about each that differs by more than a
// billionth: see [export.SelfCheck].
package resultfile
