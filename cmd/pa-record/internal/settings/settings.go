package settings

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/window"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// Service kinds and protocols, as perf_analyzer spells them.
const (
	Triton = "triton"
	OpenAI = "openai"

	HTTP = "http"
	GRPC = "grpc"
)

// Endpoints of OpenAI, the scheme of a simulated server, and the default export.
const (
	ChatEndpoint        = "v1/chat/completions"
	CompletionsEndpoint = "v1/completions"
	simScheme           = "sim://"
	defaultExport       = "profile_export.json"
)

// Settings is the command line of a run, checked and with every default spelled out. Its
// JSON goes into the export and to --dry-run, so a field that may hold a secret has no
// JSON key.
type Settings struct {
	ServiceKind  string   `json:"service_kind"`
	Model        string   `json:"model,omitempty"`  // the first
	Models       []string `json:"models,omitempty"` // all of several
	ModelChoice  string   `json:"model_selection_strategy,omitempty"`
	ModelVersion string   `json:"model_version,omitempty"`
	URL          string   `json:"url"`            // without user information and query
	URLs         []string `json:"urls,omitempty"` // all of several
	// Servers are the servers with labels. URL, URLs, Transport and Proxies belong to the
	// first server, or after [Settings.ForServer] to the server with Label.
	Servers   []Server `json:"servers,omitempty"`
	Label     string   `json:"label,omitempty"`
	Protocol  string   `json:"protocol"`
	Endpoint  string   `json:"endpoint,omitempty"` // without query
	Streaming bool     `json:"streaming"`
	// Async says that requests are what perf_analyzer calls asynchronous.
	Async bool `json:"async,omitempty"`
	// Sync says that requests to a model that keeps state are not asynchronous, either.
	Sync bool `json:"sync,omitempty"`

	Reuse           string       `json:"connection_reuse"`
	Transport       string       `json:"transport"` // resolved
	HTTP2           bool         `json:"http2,omitempty"`
	GRPCConnections int          `json:"grpc_connections,omitempty"`
	Proxies         []string     `json:"proxies,omitempty"` // without user information
	TLS             *tlsSettings `json:"tls,omitempty"`

	HeaderNames []string        `json:"header_names,omitempty"`
	Parameters  []string        `json:"request_parameters,omitempty"`
	ShownBody   json.RawMessage `json:"extra_body,omitempty"` // ExtraBody without credentials

	loadSettings
	Measure struct {
		Mode           string  `json:"mode,omitempty"`
		IntervalMS     int     `json:"interval_ms,omitempty"`
		WindowRequests int     `json:"window_requests,omitempty"`
		StabilityPct   float64 `json:"stability_percentage,omitempty"`
		MaxTrials      int     `json:"max_trials,omitempty"`
		StopOnUnstable bool    `json:"stop_on_unstable,omitempty"`
		Percentile     int     `json:"percentile,omitempty"`
		Requests       int     `json:"request_count,omitempty"`
		Times          int     `json:"request_count_times_level,omitempty"`
		All            bool    `json:"request_count_all,omitempty"`
		DurationMS     float64 `json:"duration_ms,omitempty"`
	} `json:"measurement"`
	RequestTimeoutMS float64 `json:"request_timeout_ms"`
	GraceMS          float64 `json:"grace_period_ms"`
	// MaxAnswerMemory is in bytes; 0 is the default.
	MaxAnswerMemory int64 `json:"max_answer_memory,omitempty"`
	// MaxErrorRate is a fraction; nil is no limit.
	MaxErrorRate *float64 `json:"max_error_rate,omitempty"`

	inputSettings
	tritonSettings
	Sequence sequenceSettings `json:"sequences,omitzero"`

	ArtifactDir string   `json:"artifact_dir,omitempty"`
	Exports     []string `json:"profile_export_file"`
	CSV         string   `json:"csv_file,omitempty"` // of -f
	VerboseCSV  bool     `json:"verbose_csv,omitempty"`
	HTML        string   `json:"html_file,omitempty"`
	Report      bool     `json:"report,omitempty"`
	Hints       hints    `json:"analysis_hints,omitempty"`
	Repeat      int      `json:"repeat,omitempty"` // runs; 0: --repeat is not given
	Interleave  bool     `json:"interleave,omitempty"`
	// WarmupRuns is the number of runs against each server that come first and are not recorded.
	WarmupRuns int   `json:"warmup_runs,omitempty"`
	Runs       []Run `json:"runs,omitempty"` // with --repeat
	Calibrate  bool  `json:"calibrate,omitempty"`

	rankSettings

	RawURLs         []string        `json:"-"`
	ExtraBody       json.RawMessage `json:"-"`
	rawEndpoint     string
	ReuseMode       backend.Reuse `json:"-"`
	PrewarmOptional bool          `json:"-"` // nobody asked for ReuseMode
	openAITransport openai.Transport
	Proxy           func(*url.URL) (*url.URL, error) `json:"-"` // nil: none
	tls             *tls.Config                      // nil: the default
	Notes           []string                         `json:"-"`
	Warnings        []string                         `json:"-"`
	// WithoutEffect lists what was asked for and has no effect. It is kept in the export.
	WithoutEffect []export.WithoutEffect `json:"-"`
	given         map[string]bool        // flags on the command line that rules are about
	shapeFlag     string                 // flag of the shape of the load
	// templateStreams says that the request template asks for streamed answers.
	templateStreams bool
	sends           bool // requests are sent, not only written

	Measurement       window.Measure `json:"-"`
	RequestTimeout    time.Duration  `json:"-"`
	Grace             time.Duration  `json:"-"`
	WaitReady         time.Duration  `json:"-"`
	Headers           []header       `json:"-"`
	RequestParameters []wire.Param   `json:"-"`
	apiKey            string
	Bodies            []string `json:"-"` // parts of requests from the command line, with credentials
	Overwrite         bool     `json:"-"`
	SpillDir          string   `json:"-"` // second place of a journal; "" means the folder for temporary files
	Verbose           bool     `json:"-"`
	Quiet             bool     `json:"-"`
	UI                string   `json:"-"`
	DryRun            bool     `json:"-"`
	OneRound          bool     `json:"-"` // the input data is not gone through again for several models
}

// New reads the flags of c. getenv is os.Getenv except in tests. Its error is a usage
// error with all mistakes.
func New(c *cli.Context, getenv func(string) string) (*Settings, error) {
	return newSettings(c, getenv, true)
}

// NewInputs is New for a command that writes requests and sends none, so that flags of the load
// need not have an effect.
func NewInputs(c *cli.Context, getenv func(string) string) (*Settings, error) {
	return newSettings(c, getenv, false)
}

func newSettings(c *cli.Context, getenv func(string) string, sends bool) (*Settings, error) {
	p, s := &parser{c: c}, &Settings{}
	p.noArguments()
	p.display(s)
	p.target(s, getenv)
	p.connections(s, getenv)
	p.inputs(s)
	p.sequences(s)
	p.tritonOnly(s)
	p.load(s)
	p.batches(s)
	p.metrics(s)
	p.measurement(s)
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
		return nil, &cmdline.UsageError{Msg: errors.Join(p.errs...).Error()}
	}
	return s, nil
}

// analyzeCommands names commands of pa-analyze that people try with pa-record.
var analyzeCommands = []string{"report", "diff", "requests", "check", "validate", "convert", "merge", "plot", "html", "trace", "trend", "tokenize"}

// noArguments refuses arguments that are no flags.
func (p *parser) noArguments() {
	switch first := p.c.Args().First(); {
	case strings.Contains(first, "://"):
		p.errorf("unexpected argument %q; give the server's URL with -u", redact.URL(first))
	case slices.Contains(analyzeCommands, first):
		p.errorf("%s is a command of pa-analyze, not of pa-record; run pa-analyze %[1]s", first)
	case p.c.Args().Present():
		p.errorf("unexpected argument %q; pa-record takes flags only", redact.Members(first))
	}
}

// A parser reads a command line and collects its mistakes.
type parser struct {
	c    *cli.Context
	errs []error
	// wrong holds the flags with a mistake that wrongf reported.
	wrong map[string]bool
}

func (p *parser) errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// wrongf is errorf for a mistake in a flag; it puts the flag's name before the text. It
// reports only the first mistake of a flag.
func (p *parser) wrongf(flag, format string, args ...any) {
	if p.wrong[flag] {
		return
	}
	if p.wrong == nil {
		p.wrong = map[string]bool{}
	}
	p.wrong[flag] = true
	p.errorf("--"+flag+format, args...)
}

// Note adds a note, to be printed on standard error.
func (s *Settings) Note(format string, args ...any) {
	s.Notes = append(s.Notes, fmt.Sprintf(format, args...))
}

// NoEffect adds what was asked for in vain, and why, to be printed on standard error and kept
// in the export.
func (s *Settings) NoEffect(what, format string, args ...any) {
	s.WithoutEffect = append(s.WithoutEffect, export.WithoutEffect{What: what, Why: fmt.Sprintf(format, args...)})
}

// Warn adds a warning, to be printed on standard error and kept in the export.
func (s *Settings) Warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// Milliseconds returns d as a number of milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Kinds of --ui.
const (
	UIAuto  = "auto"  // a line that is redrawn on a terminal, plain lines elsewhere
	UIPlain = "plain" // a line every ten seconds
	UINone  = "none"
)

// mostWithoutEffect bounds the bytes of a note about something without effect.
const mostWithoutEffect = 500

// PrintNotes prints the notes and warnings of the settings to w, one a line.
func (s *Settings) PrintNotes(w io.Writer) {
	for _, n := range s.Notes {
		fmt.Fprintf(w, "pa-record: note: %s\n", n)
	}
	if s.World.Rank == 0 { // it prints for all ranks
		for _, e := range s.WithoutEffect {
			if len(e.What) > mostWithoutEffect {
				e.What = sanitize.Clip(e.What, mostWithoutEffect) + " (the export names all)"
			}
			fmt.Fprintf(w, "pa-record: note: %v\n", e)
		}
	}
	for _, text := range s.Warnings {
		fmt.Fprintf(w, "pa-record: warning: %s\n", text)
	}
	for i := range s.Servers {
		for _, text := range s.Servers[i].Warnings {
			fmt.Fprintf(w, "pa-record: warning: %s: %s\n", s.Servers[i].Label, text)
		}
	}
}

// Unstreamed returns how to get streamed answers in a run that had none; "" with --quiet.
func (s *Settings) Unstreamed() string {
	switch {
	case s.Quiet:
		return ""
	case !s.Streaming:
		return "add --streaming for them"
	case s.Template != nil:
		return `add "stream": true to --request-template for them`
	}
	return "the server did not stream, although --streaming asks for it"
}

// OwnSummary reports whether a run ends with our own summary, for all servers but Triton.
// perf_analyzer's console, which describes requests to Triton, is then shown only
// with -v.
func (s *Settings) OwnSummary() bool { return s.ServiceKind != Triton }
