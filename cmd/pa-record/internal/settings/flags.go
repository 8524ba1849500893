package settings

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// Categories of the help page, in its order. The first word of each is a topic of the
// help: pa-record --help load.
const (
	catTarget = "Target"
	catConn   = "Connections"
	catTLS    = "TLS"
	catLoad   = "Load"
	catLong   = "Measurement"
	catRanks  = "Ranks of a run on several machines"
	catInput  = "Inputs"
	catMadeUp = "Synthetic prompts"
	catMedia  = "Media of synthetic prompts"
	catTriton = "Triton"

	catSequence = "Sequences, for models that keep state"

	CategoryOutput = "Output"
	catMetrics     = "Metrics of servers and GPUs"
	catLook        = "Display"
)

// Flags returns all flags of a run, in the order of the help page. Flags that
// perf_analyzer has, too, have its names, meanings and defaults.
func Flags() []cli.Flag {
	return slices.Concat(targetFlags(), connectionFlags(), tlsFlags(), loadFlags(), runFlags(), rankFlags(), inputFlags(), syntheticFlags(), mediaFlags(), sequenceFlags(), tritonFlags(), outputFlags(), metricsFlags(), displayFlags())
}

// CommonFlags are on the first screen of the help.
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

// CommonInputFlags are on the first screen of the help of pa-record inputs.
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

// The advice for flags that pa-record does not have.
const (
	noCAPI        = "the in-process C API is not supported; start the server"
	noTFServing   = "TensorFlow Serving is not supported"
	noDynamicGRPC = "only Triton's own gRPC service is supported"
)

// NotSupportedKinds holds the service kinds that only perf_analyzer supports, with the
// text of the error.
var NotSupportedKinds = map[string]string{
	"triton_c_api": noCAPI + ", and use triton",
	"tfserving":    noTFServing,
	"torchserve":   "TorchServe is not supported",
	"dynamic_grpc": noDynamicGRPC,
}

// NotSupported are flags of perf_analyzer and of other tools that pa-record does not have,
// with what to do instead.
var NotSupported = map[string]string{
	"api-key":                 "other users of the machine would see the key; put it into a file and give --api-key-file FILE, or set OPENAI_API_KEY",
	"o":                       "--profile-export-file names the export",
	"output":                  "--profile-export-file names the export",
	"grpc-method":             noDynamicGRPC,
	"model-signature-name":    noTFServing,
	"triton-server-directory": noCAPI,
	"model-repository":        noCAPI,
	"enable-mpi":              "it is not needed: pa-record finds its rank when mpirun starts it; see --help ranks",
}

// Renamed are flags of other tools, each with the flag of pa-record that does the same.
var Renamed = map[string]string{
	"max-tokens":              "--output-tokens-mean N",
	"max-output-tokens":       "--output-tokens-mean N",
	"max-completion-tokens":   "--output-tokens-mean N",
	"max-new-tokens":          "--output-tokens-mean N",
	"output-len":              "--output-tokens-mean N",
	"output-length":           "--output-tokens-mean N",
	"random-output-len":       "--output-tokens-mean N",
	"osl-stddev":              "--output-tokens-stddev N",
	"ignore-eos":              "--output-tokens-mean N --output-tokens-mean-deterministic",
	"input-len":               "--synthetic-input-tokens-mean N",
	"input-length":            "--synthetic-input-tokens-mean N",
	"prompt-tokens":           "--synthetic-input-tokens-mean N",
	"random-input-len":        "--synthetic-input-tokens-mean N",
	"isl-stddev":              "--synthetic-input-tokens-stddev N",
	"random-prefix-len":       "--prefix-prompt-length N",
	"num-prompts":             "--request-count N",
	"num-requests":            "--request-count N",
	"max-requests":            "--request-count N",
	"num-warmups":             "--warmup-request-count N",
	"num-warmup-requests":     "--warmup-request-count N",
	"max-seconds":             "--duration Ns",
	"max-duration":            "--duration Ns",
	"benchmark-duration":      "--duration Ns",
	"num-concurrent-requests": "--concurrency-range N",
	"num-users":               "--concurrency-range N",
	"users":                   "--concurrency-range N",
	"vus":                     "--concurrency-range N",
	"qps":                     "--request-rate-range N",
	"arrival-rate":            "--request-rate-range N",
	"input-file":              "--input-data FILE",
	"dataset-path":            "--input-data FILE",
	"base-url":                "--url URL",
	"host":                    "--url URL",
	"seed":                    "--random-seed N",
	"save-result":             "--profile-export-file FILE",
}
