// Package profilejson reads and writes profile_export.json, the file in which
// perf_analyzer keeps every timestamp of a run.
//
//	r, err := profilejson.NewReader(ctx, "old.json", f, size, export.Limits{})
//	if err != nil {
//		return err
//	}
//	defer r.Close()
//	for r.Next() {
//		use(r.Run().Experiments[r.Experiment()], r.Request())
//	}
//	return r.Err()
//
// The layout (members in brackets are not in every release):
//
//	{"experiments":[
//	   {"experiment":{"mode":"concurrency","value":8},
//	    "requests":[
//	      {"timestamp":T,["sequence_id":N],["request_inputs":{NAME:VALUE,…}],
//	       "response_timestamps":[T,…],["response_outputs":[{NAME:VALUE,…},…]],["pa":{…}]},…],
//	    "window_boundaries":[T,…],["pa":{…}]},…],
//	 "version":S,["service_kind":S],["endpoint":S],["pa":{…}]}
//
// All T are nanoseconds of the Unix epoch as unsigned 64-bit integers.
//
// # Reading
//
// The output of every release of perf_analyzer: 23.09 and later without
// outputs, 24.03, 24.11 and 24.12 with a length prefix in each string (which
// stays in the data: see [export.StripLengthPrefix]), strings that are not
// UTF-8 (kept byte for byte), window boundaries up to 2^64−1. Members may come
// in any order and with any white space. Members that no release writes are
// kept in Extra. Integers may be written as floats (1.0, 1e+18) if they are
// integral. Order and number text of inputs and outputs are kept, so that
// reading a file of perf_analyzer and writing it again gives the same bytes.
//
// JSON is taken strictly but in two points: strings may hold any byte from
// 0x20 on, and a lone surrogate escape becomes its three bytes (WTF-8), or, from
// \udc80 to \udcff, the byte that it stands for (Python's surrogateescape).
//
// # Additions
//
// pa-record adds exactly one member, "pa", as the last one of the document, of
// an experiment and of a request. The "requests" array holds what
// perf_analyzer would have exported; warm-up, failed, cancelled and late
// requests are in "pa"."excluded_requests" of their experiment, because other
// readers would count them. schemas/profile_export.schema.json describes each
// member.
//
// # Memory
//
// A reader holds one window onto the file (1 MiB, more for a larger request)
// and one decoded request. [export.Limits] MaxValueBytes bounds the text of a
// request, and four times that its decoded responses, however many of them a
// hostile text may name. A writer holds one encoded request and up to 1 MiB of
// excluded ones, beyond which they wait in a temporary file.
package profilejson
