// Package foreign reads the result files of other load generators as runs, so
// that everything that reads a recorded run reads them too:
//
//	AIPerf           profile_export.jsonl, profile_export_raw.jsonl
//	GuideLLM         benchmarks.json
//	inference-perf   per_request_lifecycle_metrics.json
//	vLLM             vllm bench serve --save-result --save-detailed, and
//	                 vllm-bench (its twin in Rust)
//	TensorRT-LLM     benchmark_serving --save-result --save-detailed
//	SGLang           bench_serving --output-details, and its twin in Rust
//	llm_perf.py      --profile-export-file, both versions
//
// They are told apart by their content:
//
//	o := export.Opener{Formats: foreign.Formats()}
//	r, err := o.Open(ctx, "benchmarks.json")
//
// No such file holds all that a recording does. What is missing is named in
// [export.Import] of the run, and a number that a file states without what it
// was made of (tokens without texts) is in [export.Stated] of the request.
// Nothing is invented: a file without start times has all its requests at one
// instant, and says so.
//
// Times are whole nanoseconds. Tools that write seconds as floats took them from
// clocks of that resolution: the nearest nanosecond is what the clock said, as
// long as the float has digits enough (a Unix time in seconds has steps of
// 238 ns, which is what such a file can hold).
//
// Where a file also holds figures of its own about its requests, or the tool
// writes them into another file of the folder ([export.Summarized]), the reader
// makes them again, by the tool's formulas, and each that differs by more than
// a billionth is a warning: see [export.SelfCheck].
package foreign
