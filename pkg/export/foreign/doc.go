// Package foreign reads the result files of other load generators as runs, so
// that everything that reads a recorded run reads them too:
//
//	AIPerf               profile_export.jsonl, profile_export_raw.jsonl
//	GuideLLM             benchmarks.json
//	inference-perf       per_request_lifecycle_metrics.json
//	mlcommons/endpoints  events.jsonl
//	vLLM                 vllm bench serve --save-result --save-detailed, and
//	                     vllm-bench (its twin in Rust)
//	TensorRT-LLM         benchmark_serving --save-result --save-detailed
//	SGLang               bench_serving --output-details, and its twin in Rust
//	llm_perf.py          --profile-export-file, both versions
//
// Their content tells which one a file is:
//
//	o := export.Opener{Formats: foreign.Formats()}
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
// into another file of the folder ([export.Summarized]). The reader computes them
// again by the tool's formulas, and warns about each that differs by more than a
// billionth: see [export.SelfCheck].
package foreign
