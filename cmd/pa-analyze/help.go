package main

import "github.com/pa-tools/pa/internal/cmdline"

// commonFlags are on the first screens of the help. A command without an entry has few
// flags, and its first screen shows all.
var commonFlags = map[string][]cmdline.CommonFlag{
	"report": {
		{Name: "format", Usage: "print as `FORMAT`: table, csv, json, markdown, html"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a file, or a model's name"},
		{Name: "window", Usage: "only requests that started `FROM:TO`, such as 30s:90s"},
		{Name: "steady-state", Usage: "only the time with 95% of the concurrency in flight"},
		{Name: "windows", Usage: "each level over time, in windows of `LENGTH`: 10s"},
		{Name: "slo", Usage: "how many requests meet `EXPR`: 'ttft<=200ms && tpot<=20ms'"},
		{Name: "metrics", Usage: "also `GROUP`: quality, economics, prefix, phases"},
		{Name: "dialect", Usage: "report as `TOOL` does: vllm, genai-perf-25.08, …"},
		{Name: "all-warnings", Usage: "print every warning of every level and file"},
	},
	"diff": {
		{Name: "format", Usage: "print as `FORMAT`: text, markdown, csv or json"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "fail-on", Usage: "exit code 3 where `CONDITION` holds: ttft_p99>+5%"},
		{Name: "single-run", Usage: "judge one run a side, although runs differ by chance"},
		{Name: "ignore", Usage: "compare although `NAME` differs: model, load, … or all"},
		{Name: "steady-state", Usage: "only the time with 95% of the concurrency in flight"},
	},
	"rig": {
		{Name: "format", Usage: "print as `FORMAT`: text, markdown, csv or json"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "runs", Usage: "the smallest change that `N` runs a side find: 3,5,10"},
		{Name: "effect", Usage: "how many runs a side find a change of `PERCENT`: 2%"},
		{Name: "ignore", Usage: "analyze runs together although `NAME` differs"},
		{Name: "steady-state", Usage: "only the time with 95% of the concurrency in flight"},
	},
	"plan": {
		{Name: "format", Usage: "print as `FORMAT`: text, markdown or json"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "change", Usage: "find, or exclude, a change of `PERCENT`: 5%"},
		{Name: "power", Usage: "how often to find it, a `PERCENT` of comparisons: 80%"},
		{Name: "ignore", Usage: "plan from runs together although `NAME` differs"},
		{Name: "steady-state", Usage: "only the time with 95% of the concurrency in flight"},
	},
	"trend": {
		{Name: "format", Usage: "print as `FORMAT`: text, markdown, csv or json"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "baseline", Usage: "judge the runs by the accepted ones in `DIR`"},
		{Name: "accept", Usage: "add the runs to --baseline if they pass"},
		{Name: "require-baseline", Usage: "fail if nothing is accepted yet"},
		{Name: "allow", Usage: "let changes of up to `PERCENT` pass: 2%"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "ignore", Usage: "analyze runs together although `NAME` differs"},
	},
	"pareto": {
		{Name: "format", Usage: "print as `FORMAT`: text, markdown, csv or json"},
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "gpus", Usage: "the number of GPUs, for all runs or for each: 8 or 4,8"},
		{Name: "user-rate", Usage: "the speed for a user: decode or request"},
		{Name: "slo", Usage: "how many requests meet `EXPR`: 'ttft<=200ms && tpot<=20ms'"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "steady-state", Usage: "only the time with 95% of the concurrency in flight"},
	},
	"plot": {
		{Name: "output", Usage: "write to `FILE`"},
		{Name: "experiment", Usage: "only this load `LEVEL`: 8, request_rate:2.5 (repeatable)"},
		{Name: "slo", Usage: "how many requests meet `EXPR`: 'ttft<=200ms' (cdf, sweep)"},
		{Name: "width", Usage: "make the picture `PIXELS` wide"},
	},
	"definitions": {
		{Name: "format", Usage: "print as `FORMAT`: table, markdown or json"},
		{Name: "dialect", Usage: "only dialects that begin as `DIALECT` (repeatable)"},
		{Name: "experiment", Usage: "only this load `LEVEL`"},
		{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a file, or a model's name"},
	},
	"convert": {
		{Name: "as", Usage: "write the result file of `TOOL`: vllm, aiperf, guidellm, …"},
		{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a file, or a model's name"},
		{Name: "experiment", Usage: "only this load `LEVEL`"},
		{Name: "overwrite", Usage: "replace the output file if it is there"},
	},
	"requests": {
		{Name: "format", Usage: "print as `FORMAT`: table, csv or jsonl"},
		{Name: "limit", Usage: "print at most `N` requests"},
		{Name: "sort", Usage: "sort by `COLUMN`; with - in front from large to small"},
		{Name: "tokenizer", Usage: "count tokens with `TOKENIZER`: a file, or a model's name"},
	},
	"tokenize": {
		{Name: "tokenizer", Usage: "count with `TOKENIZER`: a file, or a model's name"},
		{Name: "ids", Usage: "print the ids, not their number"},
		{Name: "special", Usage: "count the special tokens around a text, too"},
		{Name: "jsonl", Usage: "each line is a JSON string"},
		{Name: "output", Usage: "write to `FILE`"},
	},
}
