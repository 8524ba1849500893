package perfanalyzer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// Settings are the settings of perf_analyzer's command line that a report shows. The
// zero value of a field means its default, unless the comment says otherwise; a nil
// pointer means unknown.
type Settings struct {
	Release *Release // nil: the latest

	// Streams and Steps are the size of the input data: the number of conversations,
	// and of the entries of one of them. 0 means no file, or unknown.
	Streams, Steps int

	ServiceKind string // "triton", "openai"; "" is Triton
	Protocol    string // "http", "grpc"; "" with Triton means unknown
	BatchSize   int    // of Triton; 0 means 1

	// Windows are the measurement windows; nil if unknown, or with a request count.
	Windows *Windows
	// Requests is the number of requests of a level; 0 means that windows decide.
	Requests int
	// Warmup is the number of requests before each level.
	Warmup int
	// Async is set if requests are sent asynchronously; nil if unknown.
	Async      *bool
	Percentile int // replaces the mean; 0 or less means the mean

	// Limits bound the search for levels; nil for a single level.
	Limits *Limits
	// Distribution is the distribution of a request rate: "constant" or "poisson"; "" for
	// other loads.
	Distribution string
	BinarySearch bool

	// Decoupled is set if the model answers with any number of responses.
	Decoupled bool

	Verbose, VerboseCSV bool

	// DurationMS is the length of a level if pa-record's --duration decides; else 0.
	DurationMS int

	// sync is set if --sync was given.
	sync bool
	// ends is set if the load ends by itself: no window or count decides.
	ends bool
	// unnamed is set if levels have no name, own if perf_analyzer does not report
	// levels of their kind.
	unnamed, own bool
}

// Windows are the measurement windows of a level.
type Windows struct {
	Mode       string // "time_windows", "count_windows"
	IntervalMS int    // of time windows
	Requests   int    // of count windows
}

// Limits are the ends of a search for levels.
type Limits struct {
	LatencyMS int
	// One of Concurrency and Rate is the highest level; neither is set if only the
	// latency ends the search.
	Concurrency int
	Rate        float64
	// Unknown is set if there were several levels, of the mode Mode, and their
	// limits are unknown.
	Unknown bool
	Mode    string
}

func (s *Settings) release() *Release {
	if s.Release == nil {
		return latest()
	}
	return s.Release
}

func (s *Settings) openAI() bool { return s.ServiceKind == openAI }

// async returns whether requests are sent asynchronously: Async, or the only
// possibility of the other settings; nil if unknown.
func (s *Settings) async() *bool {
	if s.Async == nil && (s.openAI() || s.Decoupled) {
		return new(true)
	}
	return s.Async
}

// SetStateful records that the model keeps state; perf_analyzer then sends
// asynchronously unless --sync was given. An unknown Async stays unknown.
func (s *Settings) SetStateful() {
	if s.Async != nil && !s.sync {
		s.Async = new(true)
	}
}

// Service kinds as exports spell them.
const (
	openAI = "openai"
	triton = "triton"
)

// Write writes the text that perf_analyzer prints before the first level.
func (s *Settings) Write(w io.Writer) error {
	p := &printer{}
	switch {
	case s.Streams == 1:
		p.linef(" Successfully read data for 1 stream/streams with %d step/steps.", s.Steps)
	case s.Streams > 1:
		p.linef(" Successfully read data for %d stream/streams.", s.Streams)
	}
	p.linef("*** Measurement Settings ***")
	rules := &s.release().rules
	if !s.openAI() || s.BatchSize > 0 {
		p.linef("  Batch size: %d", max(s.BatchSize, 1))
	}
	switch kind := s.ServiceKind; {
	case !rules.kindWord:
		if kind == "" {
			kind = triton
		}
		p.linef("  Service Kind: %s", strings.ToUpper(kind))
	case kind == triton || kind == "":
		p.linef("  Service Kind: Triton")
	}
	s.writeLength(p, rules)
	if l := s.Limits; l != nil {
		switch {
		case l.Unknown:
			p.linef("  Latency limit: %s msec", absent)
		default:
			p.linef("  Latency limit: %d msec", l.LatencyMS)
		}
		switch {
		case l.Unknown && l.Mode == export.ModeConcurrency:
			p.linef("  Concurrency limit: %s concurrent requests", absent)
		case l.Unknown:
			p.linef("  Request Rate limit: %s requests per seconds", absent)
		case l.Concurrency > 0:
			p.linef("  Concurrency limit: %d concurrent requests", l.Concurrency)
		case l.Rate > 0:
			p.linef("  Request Rate limit: %s requests per seconds", six(l.Rate))
		}
	}
	switch s.Distribution {
	case "":
	case "constant":
		p.linef("  Using uniform distribution on request generation")
	default:
		p.linef("  Using %s distribution on request generation", s.Distribution)
	}
	if s.BinarySearch {
		p.linef("  Using Binary Search algorithm")
	}
	switch async := s.async(); {
	case async == nil:
		p.linef("  Using n/a calls for inference")
	case *async:
		p.linef("  Using asynchronous calls for inference")
	default:
		p.linef("  Using synchronous calls for inference")
	}
	if s.Decoupled {
		p.linef("  Detected decoupled model, using the first response for measuring latency")
	}
	if rules.stabilizingLast && s.Requests == 0 {
		s.writeStabilizing(p, rules)
	}
	p.linef("")
	return p.flush(w)
}

// writeLength writes the lines about the length of a level.
func (s *Settings) writeLength(p *printer, rules *rules) {
	if s.Warmup > 0 && !rules.total {
		p.linef("  Sending %s", plural.Of(s.Warmup, "warmup request"))
	}
	switch {
	case s.Requests > 0 && rules.total:
		p.linef("  Sending a total of %d requests", s.Requests)
		return
	case s.Requests > 0:
		p.linef("  Sending %s", plural.Of(s.Requests, "benchmark request"))
		return
	case s.DurationMS > 0:
		p.linef("  Measuring for %d msec", s.DurationMS)
		return
	case s.ends:
		return
	case s.Windows == nil:
		p.linef(`  Using "n/a" mode for stabilization`)
	default:
		p.linef(`  Using "%s" mode for stabilization`, s.Windows.Mode)
	}
	if !rules.stabilizingLast {
		s.writeStabilizing(p, rules)
	}
	switch {
	case s.Windows == nil:
		p.linef("  Measurement window: n/a msec")
	case s.Windows.Mode == countWindows:
		p.linef("  Minimum number of samples in each window: %d", s.Windows.Requests)
	default:
		p.linef("  Measurement window: %d msec", s.Windows.IntervalMS)
	}
}

const countWindows = "count_windows"

// writeStabilizing writes the line about the stabilized figures, with the spaces of
// the release.
func (s *Settings) writeStabilizing(p *printer, rules *rules) {
	metric := "latency and throughput"
	space := ""
	switch async := s.async(); {
	case rules.latencyOnly:
		metric, space = "latency", " "
	case async == nil:
		metric = "n/a"
	case *async:
		metric = "throughput"
	}
	if s.Percentile > 0 {
		p.linef("  Stabilizing using p%d%s%s", s.Percentile, space, metric)
		return
	}
	p.linef("  Stabilizing using average %s", metric)
}

// recorded is the part of pa-record's stored configuration that reports show.
type recorded struct {
	Async        bool      `json:"async"`
	Sync         bool      `json:"sync"`
	Concurrency  []int     `json:"concurrency"`
	Rates        []float64 `json:"request_rate"`
	Range        string    `json:"range"`
	Search       string    `json:"search"`
	BinarySearch bool      `json:"binary_search"`
	LimitMS      float64   `json:"latency_threshold_ms"`
	Distribution string    `json:"request_distribution"`
	Intervals    string    `json:"request_intervals"`
	Schedule     bool      `json:"fixed_schedule"`
	Periodic     string    `json:"periodic_concurrency"`
	// Sessions is a number, or a list of several.
	Sessions     json.RawMessage `json:"session_concurrency"`
	SessionRates []float64       `json:"session_rate"`
	SessionsAs   string          `json:"sessions_as"`
	Warmup       int             `json:"warmup_request_count"`
	BatchSize    int             `json:"batch_size"`
	Measure      struct {
		Mode           string  `json:"mode"`
		IntervalMS     int     `json:"interval_ms"`
		WindowRequests int     `json:"window_requests"`
		Percentile     int     `json:"percentile"`
		Requests       int     `json:"request_count"`
		All            bool    `json:"request_count_all"`
		Times          int     `json:"request_count_times_level"`
		DurationMS     float64 `json:"duration_ms"`
	} `json:"measurement"`
}

// SettingsOf returns the settings of a run from its metadata; without metadata, from
// the rest of the file.
func SettingsOf(run *export.Run) (Settings, error) {
	s := Settings{Release: releaseOf(run), ServiceKind: export.TextOf(run.ServiceKind)}
	m := run.Meta
	if m == nil {
		return s, nil
	}
	s.Protocol = m.Protocol
	if d := m.Dataset; d != nil && len(d.Files) > 0 {
		s.Streams, s.Steps = max(d.Streams, 1), d.Entries
	}
	if m.Config == nil {
		return s, nil
	}
	var c recorded
	if err := json.Unmarshal(m.Config, &c); err != nil {
		return s, fmt.Errorf("the recorder's configuration in the file: %w", jsonscan.InWords(err))
	}
	async := c.Async || m.Streaming != nil && *m.Streaming || s.openAI()
	s.Async, s.sync = &async, c.Sync
	s.BatchSize, s.Warmup, s.Percentile, s.Requests = c.BatchSize, c.Warmup, c.Measure.Percentile, c.Measure.Requests
	if s.openAI() {
		s.BatchSize = 0
	}
	if c.Measure.Mode != "" {
		s.Windows = &Windows{Mode: c.Measure.Mode, IntervalMS: c.Measure.IntervalMS, Requests: c.Measure.WindowRequests}
	}
	s.DurationMS = int(c.Measure.DurationMS)
	s.ends = s.Windows == nil && s.DurationMS == 0
	if d := m.Dataset; d != nil && (c.Schedule || c.Measure.All) {
		s.Requests = max(d.Entries-c.Warmup, 0)
	}
	if len(c.Concurrency) == 1 && c.Measure.Times > 0 {
		s.Requests = c.Concurrency[0] * c.Measure.Times
	}
	s.Distribution, s.BinarySearch = c.Distribution, c.BinarySearch
	s.unnamed, s.own = c.Intervals != "" || c.Schedule, c.Periodic != "" || len(c.Sessions) > 0 || len(c.SessionRates) > 0 || c.SessionsAs == "conversations"
	return s, s.recordedLimits(&c)
}

// seek sets unknown Limits if a file of perf_analyzer has several levels: they are
// parts of a range that the file does not name.
func (s *Settings) seek(run *export.Run) {
	if run.Meta != nil || s.Limits != nil || len(run.Experiments) < 2 {
		return
	}
	s.Limits = &Limits{Unknown: true, Mode: run.Experiments[0].Mode}
	if s.Limits.Mode == export.ModeRequestRate && s.Distribution == "" {
		s.Distribution = absent
	}
}

// recordedLimits reads the limits of a search from pa-record's configuration.
func (s *Settings) recordedLimits(c *recorded) error {
	set := func(l *Limits, most float64) { l.Concurrency = int(most) }
	if c.Distribution != "" {
		set = func(l *Limits, most float64) { l.Rate = most }
	}
	switch n, r := len(c.Concurrency), len(c.Rates); {
	case c.Search != "":
		if err := s.limit(c.Search, set); err != nil {
			return fmt.Errorf("the range of the search in the file: %q: %w", c.Search, err)
		}
	case c.Range != "":
		if err := s.limit(c.Range, set); err != nil {
			return fmt.Errorf("the range of levels in the file: %q: %w", c.Range, err)
		}
	case n > 1:
		s.Limits = &Limits{Concurrency: max(c.Concurrency[0], c.Concurrency[n-1])}
	case r > 1:
		s.Limits = &Limits{Rate: max(c.Rates[0], c.Rates[r-1])}
	}
	if s.Limits != nil {
		s.Limits.LatencyMS = int(c.LimitMS)
	}
	return nil
}

// apply replaces settings of the file by the user's.
func (s *Settings) apply(cfg *dialect.Config) error {
	if cfg.ServiceKind != "" {
		s.ServiceKind = cfg.ServiceKind
	}
	if cfg.BatchSize > 0 {
		s.BatchSize = cfg.BatchSize
	}
	if cfg.Percentile != 0 {
		s.Percentile = cfg.Percentile
	}
	s.Verbose, s.VerboseCSV = cfg.Verbose, cfg.VerboseCSV
	return s.arguments(cfg.Args)
}

// arguments reads the settings of perf_analyzer's command line that an export does
// not have, by their long names.
func (s *Settings) arguments(args map[string]string) error {
	w := Windows{Mode: "time_windows", IntervalMS: 5000, Requests: 50}
	windowed := func(set dialect.Setter) dialect.Setter {
		return func(text string) error {
			s.Windows = &w
			return set(text)
		}
	}
	calls := func(asynchronous bool) dialect.Setter {
		return func(text string) error {
			yes, err := strconv.ParseBool(text)
			s.Async, s.sync = new(yes == asynchronous), yes != asynchronous
			return err
		}
	}
	latency := 0
	setters := map[string]dialect.Setter{
		"measurement-mode": windowed(func(text string) error {
			if w.Mode = text; text != countWindows && text != "time_windows" {
				return fmt.Errorf("expected time_windows or %s", countWindows)
			}
			return nil
		}),
		"measurement-interval":      windowed(dialect.Assign(&w.IntervalMS, count)),
		"measurement-request-count": windowed(dialect.Assign(&w.Requests, count)),
		"request-count":             dialect.Assign(&s.Requests, count),
		"warmup-request-count":      dialect.Assign(&s.Warmup, count),
		"latency-threshold":         dialect.Assign(&latency, count),
		"async":                     calls(true),
		"sync":                      calls(false),
		"protocol": func(text string) error {
			if s.Protocol = strings.ToLower(text); s.Protocol != "http" && s.Protocol != "grpc" {
				return errors.New("expected http or grpc")
			}
			return nil
		},
		"concurrency-range": func(text string) error {
			return s.limit(text, func(l *Limits, most float64) { l.Concurrency = int(most) })
		},
		"request-rate-range": func(text string) error {
			s.Distribution = cmp.Or(s.Distribution, "constant")
			return s.limit(text, func(l *Limits, most float64) { l.Rate = most })
		},
		"request-distribution": func(text string) error { s.Distribution = text; return nil },
		"binary-search":        dialect.Assign(&s.BinarySearch, strconv.ParseBool),
		"request-intervals":    func(string) error { s.unnamed = true; return nil },
	}
	for name, text := range args {
		err := fmt.Errorf("perf_analyzer's reports do not depend on this flag; expected one of %s", argumentNames)
		if set := setters[name]; set != nil {
			err = set(text)
		}
		if err != nil {
			return fmt.Errorf("--arg %s=%s: %w", name, text, err)
		}
	}
	if s.Limits != nil && latency > 0 {
		s.Limits.LatencyMS = latency
	}
	return nil
}

const argumentNames = "measurement-mode, measurement-interval, measurement-request-count, request-count, warmup-request-count, " +
	"latency-threshold, async, sync, protocol, concurrency-range, request-rate-range, request-distribution, request-intervals and binary-search"

func count(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, errors.New("expected a whole number")
	}
	return n, nil
}

// limit reads the end of a range start:end:step. perf_analyzer shows limits when
// the end is not 1, its default.
func (s *Settings) limit(text string, set func(l *Limits, most float64)) error {
	parts := strings.Split(text, ":")
	var ends [2]float64
	for i := range min(len(parts), 2) {
		f, err := strconv.ParseFloat(parts[i], 64)
		if err != nil || f < 0 {
			return errors.New("expected start:end:step")
		}
		ends[i] = f
	}
	if len(parts) < 2 || ends[1] == 1 {
		return nil
	}
	s.Limits = &Limits{}
	if ends[1] > 0 {
		set(s.Limits, max(ends[0], ends[1]))
	}
	return nil
}
