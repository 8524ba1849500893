package settings

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Categories of the help page, in its order. The first word of each is a topic of the
// help: pa-record --help load.
const (
	catTarget = "Target"
	catConn   = "Connections"
	catTLS    = "TLS"
	catLoad   = "Load"
	catLong   = "Measurement"
	catInput  = "Inputs"
	catMadeUp = "Synthetic prompts"
	catMedia  = "Media of synthetic prompts"
	catTriton = "Triton"

	catSequence = "Sequences, for models that keep state"

	CategoryOutput = "Output"
	catMetrics     = "Metrics of servers and GPUs"
	catLook        = "Display"
)

// recordFlags is the flag table of pa-record: perf_analyzer's names, meanings
// and defaults where perf_analyzer has the flag.
func Flags() []cli.Flag {
	return slices.Concat(targetFlags(), connectionFlags(), tlsFlags(), loadFlags(), runFlags(), inputFlags(), syntheticFlags(), mediaFlags(), sequenceFlags(), tritonFlags(), outputFlags(), metricsFlags(), displayFlags())
}

// commonFlags are on the first screen of the help.
var CommonFlags = []cmdline.CommonFlag{
	{Name: "url", Usage: "server `URL`: host:port, http(s)://…, or sim://"},
	{Name: "service-kind", Usage: "`KIND` of server: triton (the default) or openai"},
	{Name: "model", Usage: "`NAME` of the model"},
	{Name: "streaming", Usage: "stream the answers"},
	{Name: "concurrency-range", Usage: "requests in flight: `LEVELS` is 8, 1:16:5 or 1,4,8"},
	{Name: "request-rate-range", Usage: "or requests per second: `LEVELS` likewise"},
	{Name: "request-count", Usage: "send `N` requests per level"},
	{Name: "duration", Usage: "or send for `DURATION`: 30s, 5m"},
	{Name: "input-data", Usage: "`DATA` is a file or folder of prompts or requests"},
	{Name: "profile-export-file", Usage: "write to `FILE` (profile_export.json)"},
}

// commonInputFlags are on the first screen of the help of pa-record inputs.
var CommonInputFlags = []cmdline.CommonFlag{
	{Name: "output", Usage: "write to `FILE` instead of standard output"},
	{Name: "count", Usage: "write the first `N` requests"},
	{Name: "service-kind", Usage: "`KIND` of server: triton (the default) or openai"},
	{Name: "model", Usage: "`NAME` of the model"},
	{Name: "input-data", Usage: "`DATA` is a file or folder of prompts or requests"},
	{Name: "synthetic-input-tokens-mean", Usage: "make up prompts of `N` tokens on average"},
	{Name: "output-tokens-mean", Usage: "ask for answers of `N` tokens on average"},
	{Name: "num-dataset-entries", Usage: "take or make up `N` entries"},
}

// targetFlags say who is asked, and how.
func targetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Category: catTarget, Usage: "model `NAME`; OpenAI servers that list one model need none; several, repeated or as a list a,b, get requests by --model-selection-strategy"},
		&cli.StringFlag{Name: "model-selection-strategy", Category: catTarget, Usage: "`HOW` entries of the input data get one of several models, unless they name it: round_robin or random", DefaultText: workload.RoundRobinModels},
		&cli.StringFlag{Name: "model-version", Aliases: []string{"x"}, Category: catTarget, Usage: "Triton model `VERSION`; the latest if not given"},
		&cli.StringSliceFlag{Name: "url", Aliases: []string{"u"}, Category: catTarget, Usage: "server `URL`: host:port, http(s)://…, or sim:// for a simulated server in this process; several, repeated or as a list a:1,b:1, get requests in turn (default: localhost:8000, with -i grpc localhost:8001)"},
		&cli.StringFlag{Name: "service-kind", Category: catTarget, Usage: "`KIND` of server: triton or openai (default: triton)"},
		&cli.StringFlag{Name: "endpoint", Category: catTarget, Usage: "OpenAI `PATH` (default: v1/chat/completions)"},
		&cli.StringFlag{Name: "protocol", Aliases: []string{"i"}, Category: catTarget, Usage: "Triton `PROTOCOL`: http or grpc (default: http)"},
		&cli.BoolFlag{Name: "streaming", Category: catTarget, Usage: "stream the answers: a bidirectional gRPC stream, or \"stream\": true in OpenAI requests"},
		&cli.BoolFlag{Name: "async", Aliases: []string{"a"}, Category: catTarget, Usage: "a level is stable, too, when its throughput is; requests never wait for each other's calls anyway"},
		&cli.BoolFlag{Name: "sync", Category: catTarget, Usage: "for stateful models, require stable latency too"},
		&cli.StringSliceFlag{Name: "header", Aliases: []string{"H"}, Category: catTarget, Usage: "`HEADER` 'Name: value' of every request, or gRPC metadata (repeatable)"},
		&cli.StringFlag{Name: "api-key-file", Category: catTarget, Usage: "read the OpenAI API key from `FILE` (else from $OPENAI_API_KEY)"},
		&cli.StringFlag{Name: "extra-body", Category: catTarget, Usage: "merge the members of this `JSON` object into every OpenAI request"},
		&cli.StringSliceFlag{Name: "request-parameter", Category: catTarget, Usage: "Triton request parameter `NAME:VALUE:TYPE`, type bool, int or string; gRPC (repeatable)"},
		&cli.Int64Flag{Name: "max-answer-memory", Category: catTarget, Usage: "fail a request whose answer takes more than `BYTES` of memory: its own bytes, and 256 for each event", Value: backend.DefaultAnswerMemory},
		&cli.DurationFlag{Name: "request-timeout", Category: catTarget, Usage: "give a request up after `DURATION`; negative: never", Value: 10 * time.Minute},
		&cli.DurationFlag{Name: "wait-ready", Category: catTarget, Usage: "wait up to `DURATION` for the server to become ready", DefaultText: "do not wait"},
	}
}

// runFlags say how long.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "request-count", Category: catLong, Usage: "measure exactly `N` requests per level; all sends each entry of the input data once; 5x is five times the concurrency, or the requests of five seconds of a rate", DefaultText: "windows decide"},
		&cli.DurationFlag{Name: "duration", Category: catLong, Usage: "measure each level for `DURATION`, in one window", DefaultText: "windows decide"},
		&cli.StringFlag{Name: "measurement-mode", Category: catLong, Usage: "`MODE` of windows: time_windows or count_windows", Value: "time_windows"},
		&cli.IntFlag{Name: "measurement-interval", Aliases: []string{"p"}, Category: catLong, Usage: "length of a time window in `MS`", Value: 5000},
		&cli.IntFlag{Name: "measurement-request-count", Category: catLong, Usage: "`N` requests close a count window", Value: 50},
		&cli.Float64Flag{Name: "stability-percentage", Aliases: []string{"s"}, Category: catLong, Usage: "the level is done when throughput and latency of the last 3 windows differ by at most `PCT` %", Value: 10},
		&cli.IntFlag{Name: "max-trials", Aliases: []string{"r"}, Category: catLong, Usage: "at most `N` windows per level", Value: 10},
		&cli.BoolFlag{Name: "stop-on-unstable", Category: catLong, Usage: "measure no more levels after one that was not stable"},
		&cli.IntFlag{Name: "percentile", Category: catLong, Usage: "look at the `N`th percentile of latency for stability and -l; -1: the mean", Value: -1},
		&cli.DurationFlag{Name: "grace-period", Category: catLong, Usage: "wait `DURATION` for requests in flight at the end of a level, then cancel them; negative: do not wait", Value: 30 * time.Second},
		&cli.StringFlag{Name: "max-error-rate", Category: catLong, Usage: "end the run with exit code 3 when more than this `PART` of a level's requests fail: 0.05 or 5%", DefaultText: "no limit"},
	}
}

// outputFlags say where exports and reports go.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "profile-export-file", Category: CategoryOutput, Usage: "write the export to `FILE`, by its suffix as .json, .json.gz, .json.zst, .parquet or .arrow (repeatable; default: profile_export.json)"},
		&cli.StringFlag{Name: "artifact-dir", Category: CategoryOutput, Usage: "write exports into `DIR`, which is made if it is not there", DefaultText: "the current one"},
		&cli.StringSliceFlag{Name: "analysis-hint", Category: CategoryOutput, Usage: "keep `KEY=VALUE` in the export for pa-analyze, which follows it: dialect, experiment, tokenizer, goodput, … (repeatable)"},
		&cli.StringFlag{Name: "f", Category: CategoryOutput, Usage: "write the report as perf_analyzer's CSV to `FILE`, replacing it, and for an ensemble beside it one for each of its models"},
		&cli.BoolFlag{Name: "verbose-csv", Category: CategoryOutput, Usage: "more columns in the CSV report"},
		&cli.BoolFlag{Name: "calibrate", Category: CategoryOutput, Usage: "before the load, measure for a few seconds how far this machine's times are from the truth, and keep it in the export; see pa-record calibrate"},
		&cli.BoolFlag{Name: "overwrite", Category: CategoryOutput, Usage: "replace an export that is already there"},
	}
}

// displayFlags say what is printed.
func displayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Category: catLook, Usage: "print perf_analyzer's report for OpenAI servers, too, and each window"},
		&cli.StringFlag{Name: "ui", Category: catLook, Usage: "`KIND` of progress on standard error: auto (a bar on a terminal, else plain), plain (a line every 10 s) or none", Value: UIAuto},
		&cli.BoolFlag{Name: "quiet", Category: catLook, Usage: "no progress and no final message on standard error"},
		&cli.BoolFlag{Name: "dry-run", Category: catLook, Usage: "print the resolved plan as JSON and send nothing"},
		cmdline.ConfigFlag(catLook),
	}
}

// What to do instead of flags that pa-record does not have.
const (
	noCAPI        = "the in-process C API is not supported; start the server"
	noTFServing   = "TensorFlow Serving is not supported"
	noDynamicGRPC = "only Triton's own gRPC service is supported"
)

// notSupportedKinds are the kinds of servers that perf_analyzer knows beside
// pa-record's, with what is to be said of them.
var NotSupportedKinds = map[string]string{
	"triton_c_api": noCAPI + ", and use triton",
	"tfserving":    noTFServing,
	"torchserve":   "TorchServe is not supported",
	"dynamic_grpc": noDynamicGRPC,
}

// notSupported are flags of perf_analyzer that pa-record does not have, with
// what to do instead.
var NotSupported = map[string]string{
	"grpc-method":             noDynamicGRPC,
	"model-signature-name":    noTFServing,
	"triton-server-directory": noCAPI,
	"model-repository":        noCAPI,
	"enable-mpi":              "start one pa-record per host and analyze the exports together",
}
