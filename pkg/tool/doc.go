// Package tool lists the load generators that this project knows besides its own recorder. Each has a
// package of its own below this one, with all that is known of the tool:
//
//   - ResultFile, its result files with requests, which [Formats] reads as runs;
//   - Tools, a [dialect.Tool] for each release: its report, and the writer of its result file.
//
// The files that are read:
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
//	Ray LLMPerf          individual_responses.json
//	genai-bench          a file for each level
//	k6                   --out json
//
// Files that state figures and hold no requests give a [stated.Result]: summaries of these tools, and files of EvalScope, AISBench,
// inference-benchmarker and Locust.
//
// Package dialect has what reports share, and package resultfile has what readers share. A new tool needs a
// package, and a line in [Dialects] or [Formats].
package tool
