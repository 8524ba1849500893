// Package export is the data model of a recorded benchmark run and the door to
// the files that hold one.
//
// A [Run] has metadata and one or more experiments (load levels). An
// [Experiment] has a mode and a value ("concurrency" 8), window boundaries and
// requests. A [Request] has the times of its life and its [Response] list. All
// instants are Unix-epoch nanoseconds in a uint64, because perf_analyzer writes
// 18446744073709551615 as a window boundary; all spans are time.Duration.
//
// Formats live in subpackages (profilejson, …) and know this package, never the
// other way round. A command wires the formats it wants into an [Opener]:
//
//	o := export.Opener{Formats: []export.Format{profilejson.Format{}}}
//	r, err := o.Open(ctx, "profile_export.json")
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for r.Next() {
//		use(r.Experiment(), r.Request()) // valid until the next call of Next
//	}
//	return r.Err()
//
// The package does no analysis: which responses are tokens, which requests
// count and what a latency is are questions for package answer.
package export
