package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/realtimeflags"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Service kinds and protocols, as perf_analyzer spells them.
const (
	kindTriton = "triton"
	kindOpenAI = "openai"

	protocolHTTP = "http"
	protocolGRPC = "grpc"
)

// The default endpoint of OpenAI, the scheme of a simulated server, and the default export.
const (
	chatEndpoint  = "v1/chat/completions"
	simScheme     = "sim://"
	defaultExport = "profile_export.json"
)

// settings is the command line of a run, checked and with every default spelled out. Its
// JSON goes into the export and to --dry-run: its exported fields. A field that may hold a
// secret is not exported, or its type leaves the secret out of the JSON.
type settings struct {
	ServiceKind  string   `json:"service_kind"`
	Model        string   `json:"model,omitempty"`  // the first
	Models       []string `json:"models,omitempty"` // all of several
	ModelChoice  string   `json:"model_selection_strategy,omitempty"`
	ModelVersion string   `json:"model_version,omitempty"`
	serverURLs
	// Servers are the servers with labels. URL, URLs, Transport and Proxies belong to the
	// first server, or after [settings.forServer] to the server with Label.
	Servers   []labelledServer `json:"servers,omitempty"`
	Label     string           `json:"label,omitempty"`
	Protocol  string           `json:"protocol"`
	Endpoint  string           `json:"endpoint,omitempty"` // without query
	Streaming bool             `json:"streaming"`
	// Async says that requests are what perf_analyzer calls asynchronous.
	Async bool `json:"async,omitempty"`
	// Sync says that requests to a model that keeps state are not asynchronous, either.
	Sync bool `json:"sync,omitempty"`

	Reuse           backend.Reuse `json:"connection_reuse"`
	Transport       string        `json:"transport"` // resolved
	HTTP2           bool          `json:"http2,omitempty"`
	GRPCConnections int           `json:"grpc_connections,omitempty"`
	Proxies         []string      `json:"proxies,omitempty"` // without user information
	TLS             *tlsSettings  `json:"tls,omitempty"`

	Headers []header `json:"header_names,omitempty"`
	// HeaderTemplates are the Headers with places, whose other texts may be secrets and are left out.
	HeaderTemplates []string     `json:"header_templates,omitempty"`
	ReturnHeader    string       `json:"return_header,omitempty"`
	Parameters      []string     `json:"request_parameters,omitempty"`
	ExtraBody       redactedJSON `json:"extra_body,omitempty"`

	loadSettings
	sessionSettings
	Measure        measureSettings `json:"measurement"`
	RequestTimeout millis          `json:"request_timeout_ms"`
	Grace          millis          `json:"grace_period_ms"`
	// MaxAnswerMemory is in bytes; 0 is the default.
	MaxAnswerMemory int64 `json:"max_answer_memory,omitempty"`
	// MaxErrorRate is a fraction; nil is no limit.
	MaxErrorRate *float64 `json:"max_error_rate,omitempty"`
	// MaxOverflowRate is the same for requests that are longer than the model's context.
	MaxOverflowRate *float64 `json:"max_overflow_rate,omitempty"`

	inputSettings
	tritonSettings
	Realtime realtimeflags.Settings `json:"realtime,omitzero"`
	Sequence sequenceSettings       `json:"sequences,omitzero"`

	ArtifactDir string   `json:"artifact_dir,omitempty"`
	Exports     []string `json:"profile_export_file"`
	CSV         string   `json:"csv_file,omitempty"` // of -f
	VerboseCSV  bool     `json:"verbose_csv,omitempty"`
	HTML        string   `json:"html_file,omitempty"`
	KeepMedia   bool     `json:"keep_media,omitempty"`
	Report      bool     `json:"report,omitempty"`
	Hints       hints    `json:"analysis_hints,omitempty"`
	Repeat      int      `json:"repeat,omitempty"` // runs; 0: --repeat is not given
	Interleave  bool     `json:"interleave,omitempty"`
	// WarmupRuns is the number of runs against each server that come first and are not recorded.
	WarmupRuns int          `json:"warmup_runs,omitempty"`
	Runs       []plannedRun `json:"runs,omitempty"` // with --repeat
	Calibrate  bool         `json:"calibrate,omitempty"`

	rankSettings

	rawEndpoint     string
	prewarmOptional bool // nobody asked for Reuse
	openAITransport openai.Transport
	proxy           func(*url.URL) (*url.URL, error) // nil: none
	tls             *tls.Config                      // nil: the default
	notes           []string
	warnings        []string
	// withoutEffect lists what was asked for and has no effect. It is kept in the export.
	withoutEffect []export.WithoutEffect
	given         map[string]bool // flags on the command line that rules are about
	shapeFlag     string          // flag of the shape of the load
	// templateStreams says that the request template asks for streamed answers.
	templateStreams, askServerTimes bool
	sends                           bool // requests are sent, not only written

	waitReady         time.Duration
	requestParameters []wire.Param
	apiKey            string
	bodies            []string // parts of requests from the command line, with credentials
	overwrite         bool
	spillDir          string // second place of a journal; "" means the folder for temporary files
	verbose           bool
	quiet             bool
	ui                string
	dryRun            bool
	oneRound          bool // the input data is not gone through again for several models
}

// read completes settings whose flags, see [settings.flags], have been parsed into c: it checks the
// flags and resolves what several of them say together. getenv is os.Getenv except in tests. sends is
// false for a command that only writes requests, for which flags of the load need not have an effect.
// The error is a usage error with all mistakes.
func (s *settings) read(c *cli.Context, getenv func(string) string, sends bool) error {
	p := &parser{c: c}
	p.noArguments()
	p.scenario(s)
	p.refuse(s.ui != uiAuto && s.ui != uiPlain && s.ui != uiNone, "--ui %s: expected auto, plain or none", s.ui)
	p.target(s, getenv)
	p.connections(s, getenv)
	p.inputs(s)
	p.sequences(s)
	p.tritonOnly(s)
	p.load(s)
	p.headersOfLoad(s, sends)
	p.batches(s)
	p.metrics(s)
	p.measurement(s)
	p.sessionPlan(s, sends)
	p.madeEntries(s)
	p.output(s)
	p.ranks(s, getenv)
	p.repeat(s)
	p.warmupRuns(s, sends)
	s.promptsOfLevels()
	p.prewarmMany(s)
	s.noteBetween()
	s.noteCredentials()
	p.effects(s, sends)
	if len(p.errs) == 0 {
		p.transport(s)
	}
	if len(p.errs) == 0 {
		p.labelled(s, getenv)
	}
	if len(p.errs) > 0 {
		return &cmdline.UsageError{Msg: errors.Join(p.errs...).Error()}
	}
	return nil
}

// analyzeCommands names commands of pa-analyze that people try with pa-record.
var analyzeCommands = []string{"report", "diff", "requests", "check", "validate", "convert", "merge", "plot", "html", "trace", "trend", "tokenize"}

// Arguments that people give without a flag.
var (
	hostPort = regexp.MustCompile(`^[A-Za-z0-9.-]+:[0-9]{1,5}$`)
	number   = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// noArguments refuses arguments that are no flags.
func (p *parser) noArguments() {
	switch first := p.c.Args().First(); {
	case strings.Contains(first, "://"):
		p.errorf("unexpected argument %q; give the server's URL with -u", redact.URL(first))
	case slices.Contains(analyzeCommands, first):
		p.errorf("%s is a command of pa-analyze, not of pa-record; run pa-analyze %[1]s", first)
	case hostPort.MatchString(first):
		p.errorf("unexpected argument %q; give the server with -u %[1]s", first)
	case number.MatchString(first):
		p.errorf("unexpected argument %q; several levels have commas between them: --concurrency-range 1,4,16", first)
	case strings.HasSuffix(first, ".html"):
		p.errorf("unexpected argument %q; --html FILE writes a page", redact.Members(first))
	case p.c.Args().Present():
		p.errorf("unexpected argument %q; pa-record takes flags only", redact.Members(first))
	}
}

// A parser reads a command line and collects its mistakes.
type parser struct {
	c     *cli.Context
	errs  []error
	wrong []string // flags with a mistake that errorOnce reported
}

func (p *parser) errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// refuse is errorf where something is wrong.
func (p *parser) refuse(wrong bool, format string, args ...any) {
	if wrong {
		p.errorf(format, args...)
	}
}

// errorOnce is errorf for a mistake in a flag. It reports only the first mistake of a flag.
func (p *parser) errorOnce(flag, format string, args ...any) {
	if !slices.Contains(p.wrong, flag) {
		p.wrong = append(p.wrong, flag)
		p.errorf(format, args...)
	}
}

// given returns which of the flags are on the command line.
func (p *parser) given(flags ...string) []string {
	return slices.DeleteFunc(flags, func(flag string) bool { return !p.c.IsSet(flag) })
}

// note adds a note, to be printed on standard error.
func (s *settings) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// noEffect adds what was asked for in vain, and why, to be printed on standard error and kept
// in the export.
func (s *settings) noEffect(what, why string) {
	s.withoutEffect = append(s.withoutEffect, export.WithoutEffect{What: what, Why: why})
}

// warn adds a warning, to be printed on standard error and kept in the export.
func (s *settings) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// millis is a duration whose JSON is a number of milliseconds.
type millis time.Duration

// MarshalJSON implements json.Marshaler.
func (d millis) MarshalJSON() ([]byte, error) { return json.Marshal(milliseconds(time.Duration(d))) }

// limit returns d for a limit of the recorder, whose 0 means its default and whose negative
// values mean 0.
func (d millis) limit() time.Duration {
	if d == 0 {
		return -1
	}
	return time.Duration(d)
}

// milliseconds returns d as a number of milliseconds.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// redactedJSON is JSON whose text, and whose JSON in the settings, have no credentials.
type redactedJSON []byte

// String returns the JSON without credentials.
func (j redactedJSON) String() string { return redact.Members(string(j)) }

// MarshalJSON implements json.Marshaler.
func (j redactedJSON) MarshalJSON() ([]byte, error) { return []byte(j.String()), nil }

// Kinds of --ui.
const (
	uiAuto  = "auto"  // a line that is redrawn on a terminal, plain lines elsewhere
	uiPlain = "plain" // a line every ten seconds
	uiNone  = "none"
)

// mostWithoutEffect bounds the bytes of a note about something without effect.
const mostWithoutEffect = 500

// printNotes prints the notes and warnings of the settings to w, one a line.
func (s *settings) printNotes(w io.Writer) {
	for _, n := range s.notes {
		fmt.Fprintf(w, "pa-record: note: %s\n", n)
	}
	if s.world.Rank == 0 { // it prints for all ranks
		for _, e := range s.withoutEffect {
			if len(e.What) > mostWithoutEffect {
				e.What = sanitize.Clip(e.What, mostWithoutEffect) + " (the export names all)"
			}
			fmt.Fprintf(w, "pa-record: note: %v\n", e)
		}
	}
	for _, text := range s.warnings {
		fmt.Fprintf(w, "pa-record: warning: %s\n", text)
	}
	for i := range s.Servers {
		for _, text := range s.Servers[i].warnings {
			fmt.Fprintf(w, "pa-record: warning: %s: %s\n", s.Servers[i].Label, text)
		}
	}
}

// unstreamed returns how to get streamed answers in a run that had none; "" with --quiet.
func (s *settings) unstreamed() string {
	switch {
	case s.quiet:
		return ""
	case !s.Streaming:
		return "add --streaming for them"
	case s.template != nil:
		return `add "stream": true to --request-template for them`
	}
	return "the server did not stream, although --streaming asks for it"
}

// ownSummary reports whether a run ends with our own summary, for all servers but Triton.
// perf_analyzer's console, which describes requests to Triton, is then shown only
// with -v.
func (s *settings) ownSummary() bool { return s.ServiceKind != kindTriton }

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
	catAgents = "Agents with tools"
	catTriton = "Triton"

	catSequence = "Sequences, for models that keep state"

	catOutput  = "Output"
	catMetrics = "Metrics of servers and GPUs"
	catLook    = "Display"
)

// flags returns all flags of a run, in the order of the help page. Those with one value write it into
// s. Flags that perf_analyzer has, too, have its names, meanings and defaults.
func (s *settings) flags() []cli.Flag {
	return slices.Concat(s.targetFlags(), s.connectionFlags(), tlsFlags(), s.loadFlags(), s.sessionLoadFlags(), s.runFlags(), s.rankFlags(), s.inputFlags(), s.syntheticFlags(), agentFlags(), s.mediaFlags(), s.sequenceFlags(), s.tritonFlags(), realtimeflags.Flags(catTarget), s.outputFlags(), metricsFlags(), s.displayFlags())
}

// commonFlags are on the first screen of the help.
var commonFlags = []cmdline.CommonFlag{
	{Name: "url", Usage: "server `URL`: host:port, http(s)://…, or sim://"},
	{Name: "service-kind", Usage: "`KIND` of server: " + kindsAndDefault()},
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
var commonInputFlags = []cmdline.CommonFlag{
	{Name: "output", Usage: "write to `FILE` instead of standard output"},
	{Name: "count", Usage: "write the first `N` requests"},
	{Name: "service-kind", Usage: "`KIND` of server: " + kindsAndDefault()},
	{Name: "model", Usage: "`NAME` of the model"},
	{Name: "input-data", Usage: "`DATA` is a file or folder of prompts or requests"},
	{Name: "synthetic-input-tokens-mean", Usage: "generate prompts of `N` tokens on average"},
	{Name: "output-tokens-mean", Usage: "ask for answers of `N` tokens on average"},
	{Name: "num-dataset-entries", Usage: "take or generate `N` entries"},
}

// The advice for flags that pa-record does not have.
const (
	noCAPI        = "the in-process C API is not supported; start the server"
	noTFServing   = "TensorFlow Serving is not supported"
	noDynamicGRPC = "only Triton's own gRPC service is supported"
)

// unsupportedKinds holds the service kinds that only perf_analyzer supports, with the
// text of the error.
var unsupportedKinds = map[string]string{
	"triton_c_api": noCAPI + ", and use triton",
	"tfserving":    noTFServing,
	"torchserve":   "TorchServe is not supported",
	"dynamic_grpc": noDynamicGRPC,
}

// unsupportedFlags are flags of perf_analyzer and of other tools that pa-record does not have,
// with what to do instead.
var unsupportedFlags = map[string]string{
	"api-key":                 "other users of the machine would see the key; give it in a file (--api-key-file FILE) or in OPENAI_API_KEY",
	"o":                       "--profile-export-file names the export",
	"output":                  "--profile-export-file names the export",
	"grpc-method":             noDynamicGRPC,
	"model-signature-name":    noTFServing,
	"triton-server-directory": noCAPI,
	"model-repository":        noCAPI,
	"enable-mpi":              "not needed: pa-record finds its rank when mpirun starts it; see --help ranks",
}

// renamedFlags are flags of other tools, each with the flag of pa-record that does the same.
var renamedFlags = map[string]string{
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
	"port":                    "--openai-addr 127.0.0.1:PORT",
}
