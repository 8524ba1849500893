package settings

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/internal/regular"
	"github.com/pa-tools/pa/internal/tlsfiles"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/window"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// Service kinds and protocols, as perf_analyzer spells them.
const (
	Triton = "triton"
	OpenAI = "openai"

	HTTP = "http"
	GRPC = "grpc"
)

const (
	ChatEndpoint        = "v1/chat/completions"
	CompletionsEndpoint = "v1/completions"
	simScheme           = "sim://"
	defaultExport       = "profile_export.json"
)

// A header is one -H.
type header struct{ Name, Value string }

// settings is the command line, checked and with every default spelled out.
// What JSON shows of it goes into the export and to --dry-run, so no secret is
// among the exported fields.
type Settings struct {
	ServiceKind  string   `json:"service_kind"`
	Model        string   `json:"model,omitempty"`  // the first
	Models       []string `json:"models,omitempty"` // all of several
	ModelChoice  string   `json:"model_selection_strategy,omitempty"`
	ModelVersion string   `json:"model_version,omitempty"`
	URL          string   `json:"url"`            // without user information and query
	URLs         []string `json:"urls,omitempty"` // all of several
	Protocol     string   `json:"protocol"`
	Endpoint     string   `json:"endpoint,omitempty"` // without query
	Streaming    bool     `json:"streaming"`
	// Async says that requests are what perf_analyzer calls asynchronous.
	Async bool `json:"async,omitempty"`
	// Sync says that those to a model that keeps state are not, either.
	Sync bool `json:"sync,omitempty"`

	Reuse           string       `json:"connection_reuse"`
	Transport       string       `json:"transport"` // resolved
	HTTP2           bool         `json:"http2,omitempty"`
	GRPCConnections int          `json:"grpc_connections,omitempty"`
	Proxies         []string     `json:"proxies,omitempty"` // without user information
	TLS             *tlsSettings `json:"tls,omitempty"`

	HeaderNames []string        `json:"header_names,omitempty"`
	Parameters  []string        `json:"request_parameters,omitempty"`
	ExtraBody   json.RawMessage `json:"extra_body,omitempty"`

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
	Hints       hints    `json:"analysis_hints,omitempty"`
	Repeat      int      `json:"repeat,omitempty"` // runs; 0: --repeat is not given
	Interleave  bool     `json:"interleave,omitempty"`
	Runs        []Run    `json:"runs,omitempty"` // with --repeat
	Calibrate   bool     `json:"calibrate,omitempty"`

	RawURLs         []string `json:"-"`
	rawEndpoint     string
	ReuseMode       backend.Reuse `json:"-"`
	openAITransport openai.Transport
	Proxy           func(*url.URL) (*url.URL, error) `json:"-"` // nil: none
	tls             *tls.Config                      // nil: the default
	Notes           []string                         `json:"-"`
	Warnings        []string                         `json:"-"`

	Measurement       window.Measure `json:"-"`
	RequestTimeout    time.Duration  `json:"-"`
	Grace             time.Duration  `json:"-"`
	WaitReady         time.Duration  `json:"-"`
	Headers           []header       `json:"-"`
	RequestParameters []wire.Param   `json:"-"`
	apiKey            string
	Overwrite         bool   `json:"-"`
	Verbose           bool   `json:"-"`
	Quiet             bool   `json:"-"`
	UI                string `json:"-"`
	DryRun            bool   `json:"-"`
	OneRound          bool   `json:"-"` // the input data is not gone through again for several models
}

// newSettings reads the flags of c. Its errors are usage errors; all mistakes
// are reported at once.
func New(c *cli.Context, getenv func(string) string) (*Settings, error) {
	p := &parser{c: c}
	s := &Settings{
		ModelVersion: c.String("model-version"), Exports: c.StringSlice("profile-export-file"),
		RequestTimeout: c.Duration("request-timeout"), Grace: c.Duration("grace-period"), WaitReady: c.Duration("wait-ready"),
		Calibrate: c.Bool("calibrate"), Overwrite: c.Bool("overwrite"), Verbose: c.Bool("verbose"), Quiet: c.Bool("quiet"), DryRun: c.Bool("dry-run"),
	}
	s.BatchSize = c.Int("batch-size")
	switch s.UI = c.String("ui"); s.UI {
	case UIAuto, UIPlain, UINone:
	default:
		p.errorf("--ui %s: the kind is auto, plain or none", s.UI)
	}
	if c.Args().Present() {
		p.errorf("unexpected argument %q; pa-record takes flags only", c.Args().First())
	}
	p.models(s)
	p.target(s)
	p.connections(s, getenv)
	p.headers(s, getenv)
	p.parameters(s)
	p.inputs(s)
	p.sequences(s)
	p.tritonOnly(s)
	p.load(s)
	p.batches(s)
	p.duration(s)
	p.output(s)
	p.csv(s)
	p.repeat(s)
	if len(s.BetweenURLs) > 0 && len(s.Levels) == 1 && s.LevelPlan == nil && s.Repeat < 2 {
		s.Note("--between-levels has no effect: there is one level")
	}
	if len(p.errs) == 0 {
		p.transport(s)
	}
	if len(p.errs) > 0 {
		return nil, &cmdline.UsageError{Msg: errors.Join(p.errs...).Error()}
	}
	return s, nil
}

// A settingsParser collects the mistakes of a command line.
type parser struct {
	c    *cli.Context
	errs []error
	// wrong are the flags of which a mistake was noted by wrongf.
	wrong map[string]bool
}

func (p *parser) errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// wrongf is errorf for a mistake in a flag, whose name comes before the text. Of a
// flag only the first one is told.
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

// target resolves who is asked, and how.
func (p *parser) target(s *Settings) {
	c := p.c
	s.ServiceKind, s.Protocol, s.Endpoint = c.String("service-kind"), c.String("protocol"), c.String("endpoint")
	s.Streaming = c.Bool("streaming")
	s.RawURLs = servers(c.StringSlice("url"))
	simulated := len(s.RawURLs) > 0 && s.Simulated()
	if s.ServiceKind == "" {
		s.ServiceKind = Triton
		if simulated && s.Model == "" && s.Protocol == "" {
			s.ServiceKind = OpenAI // the quick start
			if _, numbers := wireopenai.Numbers(s.Endpoint); !numbers && !c.IsSet("streaming") {
				s.Streaming = true
			}
		}
	}
	if s.Protocol == "" {
		s.Protocol = HTTP
	}
	s.Protocol = strings.ToLower(s.Protocol)
	if s.Protocol != HTTP && s.Protocol != GRPC {
		p.errorf("-i %s: the protocol is http or grpc", s.Protocol)
	}
	if c.Bool("async") && c.Bool("sync") {
		p.errorf("--async and --sync exclude each other; drop one")
	}
	if s.Streaming && c.Bool("sync") {
		p.errorf("--streaming needs asynchronous calls; drop --sync")
	}
	s.Sync = c.Bool("sync")
	s.Async = c.Bool("async") || s.Streaming || s.ServiceKind == OpenAI
	switch s.ServiceKind {
	case Triton:
		p.triton(s)
	case OpenAI:
		p.openAI(s)
	default:
		if why, ok := NotSupportedKinds[s.ServiceKind]; ok {
			p.errorf("--service-kind %s: %s", s.ServiceKind, why)
			break
		}
		p.errorf("--service-kind %s: the kind is triton or openai", s.ServiceKind)
	}
	p.urls(s)
}

func (p *parser) triton(s *Settings) {
	if s.Model == "" {
		p.errorf("no model; give its name with -m (an OpenAI server: add --service-kind openai)")
	}
	if s.Endpoint != "" {
		// perf_analyzer passes over it, and people have it on their command lines.
		s.Note("--endpoint has no effect with --service-kind triton")
		s.Endpoint = ""
	}
	if s.Streaming && s.Protocol != GRPC {
		p.errorf("--streaming needs -i grpc")
	}
	if s.BatchSize < 1 {
		p.errorf("-b %d: the batch size must be at least 1", s.BatchSize)
	}
	for _, f := range []string{"extra-body", "api-key-file"} {
		if p.c.String(f) != "" {
			p.errorf("--%s belongs to --service-kind openai", f)
		}
	}
}

func (p *parser) openAI(s *Settings) {
	if s.Protocol == GRPC {
		p.errorf("OpenAI servers speak HTTP; drop -i grpc")
	}
	if s.BatchSize != 1 {
		p.errorf("-b %d: OpenAI requests are not batched; for several texts in one give --batch-size-text", s.BatchSize)
	}
	s.BatchSize = 0
	s.rawEndpoint = strings.Trim(s.Endpoint, "/")
	if s.rawEndpoint == "" {
		s.rawEndpoint = ChatEndpoint
	}
	s.Endpoint = redact.Endpoint(s.rawEndpoint)
	p.modelsFit(s)
	if what, ok := wireopenai.Numbers(s.rawEndpoint); ok && s.Streaming {
		p.errorf("--streaming does not fit --endpoint %s: %s are not streamed", s.Endpoint, what)
	}
	if body := p.c.String("extra-body"); body != "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &members); err != nil {
			p.errorf("--extra-body: not a JSON object (%v)", err)
			return
		}
		s.ExtraBody = json.RawMessage(body)
	}
}

// headers reads -H and the API key. getenv is os.Getenv but for tests.
func (p *parser) headers(s *Settings, getenv func(string) string) {
	authorized := false
	for _, h := range p.c.StringSlice("header") {
		name, value, ok := strings.Cut(h, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			p.errorf("-H: expected 'Name: value'") // the text may be a secret
			continue
		}
		s.Headers = append(s.Headers, header{name, strings.TrimSpace(value)})
		s.HeaderNames = append(s.HeaderNames, name)
		authorized = authorized || strings.EqualFold(name, "authorization")
	}
	if s.ServiceKind != OpenAI {
		return
	}
	switch path := p.c.String("api-key-file"); {
	case path != "":
		key, err := regular.ReadFile(p.c.Context, path, tlsfiles.MaxFileBytes)
		if err != nil {
			p.errorf("--api-key-file: %v", err)
		}
		s.apiKey = strings.TrimSpace(string(key))
		if err == nil && s.apiKey == "" {
			p.errorf("--api-key-file: %s is empty", path)
		}
	case !authorized:
		s.apiKey = getenv("OPENAI_API_KEY")
	}
	if s.apiKey != "" {
		if authorized {
			p.errorf("--api-key-file and -H 'Authorization: …' exclude each other; drop one")
		}
		s.Headers = append(s.Headers, header{"Authorization", "Bearer " + s.apiKey})
		s.HeaderNames = append(s.HeaderNames, "Authorization")
	}
}

func (p *parser) parameters(s *Settings) {
	s.Parameters = p.c.StringSlice("request-parameter")
	for _, text := range s.Parameters {
		q, err := kserve.ParseParameter(text)
		if err != nil {
			p.errs = append(p.errs, fmt.Errorf("--request-parameter: %w", err))
		}
		s.RequestParameters = append(s.RequestParameters, q)
	}
	if len(s.Parameters) > 0 && s.Protocol != GRPC {
		p.errorf("--request-parameter needs -i grpc")
	}
}

// answerMemory reads --max-answer-memory.
func (p *parser) answerMemory(s *Settings) {
	const flag, most = "max-answer-memory", math.MaxInt32 // gRPC's largest message
	if !p.c.IsSet(flag) {
		return
	}
	s.MaxAnswerMemory = p.c.Int64(flag)
	switch {
	case s.MaxAnswerMemory < 1:
		p.errorf("--%s %d: must be at least 1", flag, s.MaxAnswerMemory)
	case s.MaxAnswerMemory > most && s.ServiceKind == Triton:
		p.errorf("--%s %d: with --service-kind triton it must be at most %d", flag, s.MaxAnswerMemory, most)
	}
}

// duration reads when the levels are over.
func (p *parser) duration(s *Settings) {
	c := p.c
	s.RequestTimeoutMS, s.GraceMS = Milliseconds(s.RequestTimeout), Milliseconds(s.Grace)
	p.answerMemory(s)
	if text := c.String("max-error-rate"); text != "" {
		r, err := parsePart(text)
		if err != nil {
			p.errorf("--max-error-rate %s: %v", text, err)
		}
		s.MaxErrorRate = &r
	}
	m, show := &s.Measurement, &s.Measure
	if text := c.String("request-count"); text != "" {
		var err error
		if m.All = strings.TrimSpace(text) == "all"; !m.All {
			m.Requests, m.Times, err = parseCount(text)
		}
		if err != nil {
			p.errorf("--request-count %s: %w", text, err)
		}
	}
	m.Duration = c.Duration("duration")
	show.Requests, show.Times, show.All, show.DurationMS = m.Requests, m.Times, m.All, Milliseconds(m.Duration)
	if c.IsSet("duration") && m.Duration <= 0 {
		p.errorf("--duration %v: must be positive", m.Duration)
	}
	switch mode := c.String("measurement-mode"); mode {
	case "time_windows":
		m.Mode = window.ByTime
	case "count_windows":
		m.Mode = window.ByCount
	default:
		p.errorf("--measurement-mode %s: the mode is time_windows or count_windows", mode)
	}
	interval := p.positive("measurement-interval", c.Int("measurement-interval"))
	m.Interval = time.Duration(interval) * time.Millisecond
	m.WindowRequests = p.positive("measurement-request-count", c.Int("measurement-request-count"))
	m.MaxTrials = p.positive("max-trials", c.Int("max-trials"))
	pct := c.Float64("stability-percentage")
	if pct < 0 {
		p.errorf("--stability-percentage %v: must not be negative", pct)
	}
	m.Stability, m.ThroughputSuffices = pct/100, s.Async
	if n := c.Int("percentile"); n != -1 {
		if n < 1 || n > 99 {
			p.errorf("--percentile %d: must be 1 to 99, or -1 for the mean", n)
		}
		m.Percentile, show.Percentile = n, n
	}
	if s.Sessions > 0 && m.Counted() {
		// GenAI-Perf gives both.
		s.Note("--request-count has no effect with --session-concurrency: every session is played to its end")
		m.Requests, m.Times, m.All, show.Requests, show.Times, show.All = 0, 0, false, 0, 0, false
	}
	counted := m.Counted()
	if counted && m.Duration > 0 {
		p.errorf("--request-count and --duration exclude each other; drop one")
	}
	if m.Requests > 0 {
		p.enoughRequests(s)
	}
	if !counted && m.Duration == 0 && !s.hasEnd() {
		show.Mode, show.StabilityPct, show.MaxTrials = m.Mode.String(), pct, m.MaxTrials
		show.StopOnUnstable = c.Bool("stop-on-unstable")
		if m.Mode == window.ByTime {
			show.IntervalMS = interval
		} else {
			show.WindowRequests = m.WindowRequests
		}
	}
}

// parsePart parses a part of a whole, "0.05" or "5%".
func parsePart(text string) (float64, error) {
	number, pct := strings.CutSuffix(text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if pct {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, errors.New("expected a number from 0 to 1, or a percentage such as 5%")
	}
	return f, nil
}

func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Kinds of --ui.
const (
	UIAuto  = "auto"  // a line that is redrawn on a terminal, plain lines elsewhere
	UIPlain = "plain" // a line every ten seconds
	UINone  = "none"
)

// endpointPath is the endpoint without its query.
func (s *Settings) EndpointPath() string {
	path, _, _ := strings.Cut(s.rawEndpoint, "?")
	return strings.Trim(path, "/")
}
