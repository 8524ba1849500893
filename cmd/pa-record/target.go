package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/tlsfiles"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/observe"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
	wireopenai "github.com/pa-tools/pa/pkg/wire/openai"
)

// A target is what a run sends its requests to: the servers of a command line, or the
// servers of one label.
type target struct {
	s          *settings // of its runs
	urls       []string  // to send to
	simMetrics string    // URL of a simulated server's metrics; "" for other servers

	warned    []string // texts of the warnings from checking the servers
	ifRefused []string // advice to print if the servers refuse the first requests
}

// openTargets resolves the targets and finds the mistakes that only the protocol knows
// of. closeTargets stops the simulated servers among them.
func openTargets(ctx context.Context, s *settings) (targets []target, closeTargets func(), err error) {
	var closers []func()
	closeTargets = func() {
		for _, c := range closers {
			c()
		}
	}
	for i := range max(len(s.Servers), 1) {
		t := target{s: s.forServer(i)}
		var closeOne func()
		if t.urls, t.simMetrics, closeOne, err = resolveTarget(ctx, t.s); err != nil {
			closeTargets()
			return nil, nil, t.labelled(err)
		}
		closers = append(closers, closeOne)
		if err := checkBackend(t.s, t.urls); err != nil {
			closeTargets()
			return nil, nil, t.labelled(err)
		}
		targets = append(targets, t)
	}
	return targets, closeTargets, nil
}

// checkBackend finds the mistakes that only the protocol knows of. The error is
// a usage error.
func checkBackend(s *settings, urls []string) error {
	b, err := newBackend(s, urls)
	if err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	return b.Close()
}

// labelled adds the target's label to err.
func (t *target) labelled(err error) error {
	if t.s.Label == "" {
		return err
	}
	return fmt.Errorf("%s: %w", t.s.Label, err)
}

// settle gives the targets their settings, when the settings of all runs are complete.
func settle(targets []target, s *settings) {
	for i := range targets {
		t := &targets[i]
		t.s = s.forServer(i)
		t.s.simMetrics = t.simMetrics
	}
}

// prefix begins a message about the target.
func (t *target) prefix() string {
	if t.s.Label == "" {
		return ""
	}
	return t.s.Label + ": "
}

// waiting returns the function that prints to stderr that pa-record waits for the server,
// and why.
func (t *target) waiting(stderr io.Writer) func(why error) {
	urls := t.s.URLs
	if urls == nil {
		urls = []string{t.s.URL}
	}
	return func(why error) {
		switch {
		case t.s.quiet:
		case why == nil:
			fmt.Fprintf(stderr, "pa-record: %swaiting for %s to say whether it is ready\n", t.prefix(), strings.Join(urls, ", "))
		default:
			fmt.Fprintf(stderr, "pa-record: %swaiting up to %v for the server: %v\n", t.prefix(), t.s.waitReady, why)
		}
	}
}

// checkWarnings returns the function that prints to stderr the warnings from checking the
// servers, each text once for all runs.
func (t *target) checkWarnings(stderr io.Writer) func([]backend.Warning) {
	return func(all []backend.Warning) {
		for _, w := range all {
			if !slices.Contains(t.warned, w.Text) {
				t.warned = append(t.warned, w.Text)
				fmt.Fprintf(stderr, "pa-record: warning: %s%s\n", t.prefix(), w.Text)
			}
			if w.IfRefused != "" && !slices.Contains(t.ifRefused, w.IfRefused) {
				t.ifRefused = append(t.ifRefused, w.IfRefused)
			}
		}
	}
}

// newBackend returns the protocol that s asks for, to one server or to several
// in turn, and to one model or several.
func newBackend(s *settings, urls []string) (backend.Backend, error) {
	if s.kind().modelInBody || len(s.Models) == 0 {
		return newServers(s, s.Model, urls)
	}
	var targets []backend.Target
	for _, model := range s.Models {
		b, err := newServers(s, model, urls)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, backend.Target{Name: model, Backend: b})
	}
	return backend.ByModel(targets)
}

// newServers returns the protocol for one model.
func newServers(s *settings, model string, urls []string) (backend.Backend, error) {
	var targets []backend.Target
	for _, u := range urls {
		b, err := s.kind().backend(s, model, u)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, backend.Target{Name: redact.URL(u), Backend: b})
	}
	if len(targets) == 1 {
		return targets[0].Backend, nil
	}
	return backend.RoundRobin(targets, s.turns())
}

// newTriton returns the backend for one model of one Triton server.
func newTriton(s *settings, model, url string) (backend.Backend, error) {
	cfg := kserve.Config{
		URL: url, Model: model, Version: s.ModelVersion, Streaming: s.Streaming, Parameters: s.requestParameters, Bodies: s.bodies,
		Shapes: s.Shapes, OthersShapes: len(s.Models) > 0, BatchSize: s.BatchSize, Style: s.Style, Render: s.renderOptions(), Headers: http.Header{},
		Reuse: s.Reuse, PrewarmOptional: s.prewarmOptional, Connections: s.GRPCConnections, Compression: s.Compression, JSONInputs: s.JSONInputs, JSONOutputs: s.JSONOutputs, SharedMemory: s.SharedMemory, OutputSharedBytes: s.OutputShared,
		Trace: kserve.Trace{Levels: s.TraceLevels, Rate: s.TraceRate, Count: s.TraceCount, LogFrequency: s.LogFrequency},
		Proxy: s.proxy, TLS: s.tlsFor(hostOf(url)),
		MaxAnswerMemory: s.MaxAnswerMemory, Sources: backend.NewSources(s.sourceIPs),
	}
	if s.Protocol == protocolGRPC {
		cfg.Protocol = kserve.GRPC
	}
	for _, h := range s.Headers {
		cfg.Headers.Add(h.name, h.value)
	}
	cfg.RequestIDSeed = s.Seed
	return kserve.New(cfg)
}

// openAIConfig returns the configuration of the backend for the OpenAI server at url.
func (s *settings) openAIConfig(url string) openai.Config {
	cfg := openai.Config{
		URL: url, Endpoint: s.rawEndpoint, SGLang: s.Style == render.SGLang, Model: s.Model, Models: s.moreModels(), Streaming: s.Streaming, Render: s.renderOptions(), ExtraBody: json.RawMessage(s.ExtraBody), Bodies: s.bodies,
		HistoryReasoning: s.historyReasoning(), ServerHistory: s.SessionHistory == serverHistory,
		TLS: s.tlsFor(hostOf(url)), Transport: s.openAITransport, HTTP2: s.HTTP2, Reuse: s.Reuse, PrewarmOptional: s.prewarmOptional, Proxy: s.proxy,
		MaxAnswerMemory: s.MaxAnswerMemory, KeepMedia: s.KeepMedia, Sources: backend.NewSources(s.sourceIPs),
	}
	for _, h := range s.headersFor(url) {
		cfg.Headers = append(cfg.Headers, openai.Header{Name: h.name, Value: h.value})
	}
	cfg.ReturnHeader, cfg.RequestIDSeed = s.ReturnHeader, s.Seed
	return cfg
}

// tlsFor returns the configuration for connections to a host, nil for the
// default.
func (s *settings) tlsFor(host string) *tls.Config {
	if s.tls == nil {
		return nil
	}
	return tlsfiles.Checks{Peer: s.TLS.VerifyPeer, Host: s.TLS.VerifyHost}.Config(s.tls, host)
}

// watchers returns the collectors of the servers' metrics and statistics during a run; b
// is the servers' backend. A collector with nothing to collect is nil.
func watchers(s *settings, urls []string, b backend.Backend, clock *rxclock.Clock) (*observe.Metrics, *observe.Statistics, error) {
	watch, err := newTelemetry(s, urls, clock)
	if err != nil {
		return nil, nil, err
	}
	stats, err := newServerStats(s, b, clock)
	return watch, stats, err
}

// newTelemetry returns the collector of the metrics of the servers at urls; nil without
// --collect-metrics.
func newTelemetry(s *settings, urls []string, clock *rxclock.Clock) (*observe.Metrics, error) {
	if s.Metrics == nil {
		return nil, nil
	}
	return observe.NewMetrics(observe.MetricsConfig{
		URLs: s.metricsURLs(urls), NvidiaSMI: s.Metrics.NvidiaSMI, Interval: time.Duration(s.Metrics.Interval), Clock: clock,
		TLS: func(host string) *tls.Config { return s.tlsFor(host) },
	})
}

// newServerStats returns the collector of a Triton server's statistics; nil for other kinds
// of servers, and for several servers.
func newServerStats(s *settings, b backend.Backend, clock *rxclock.Clock) (*observe.Statistics, error) {
	var more []observe.ModelRef
	if several, ok := b.(*backend.Models); ok {
		b = several.Targets()[0].Backend
		for _, name := range s.moreModels() {
			more = append(more, observe.ModelRef{Name: name, Version: s.ModelVersion})
		}
	}
	k, ok := b.(*kserve.Backend)
	if !ok {
		return nil, nil
	}
	client, err := k.Statistics()
	if err != nil {
		return nil, err
	}
	return observe.NewStatistics(observe.StatisticsConfig{
		Client: client, Model: observe.ModelRef{Name: s.Model, Version: s.ModelVersion}, More: more, BLS: s.blsModels, Clock: clock,
	}), nil
}

// betweenTimeout bounds the time of all requests between two levels.
const betweenTimeout = time.Minute

// postBetween posts to the URLs of --between-levels, to flush the servers' caches, say. The
// configured headers, which may hold keys, go only to the servers under test.
func postBetween(ctx context.Context, s *settings) error {
	ctx, cancel := context.WithTimeout(ctx, betweenTimeout)
	defer cancel()
	for _, u := range s.BetweenLevels {
		if err := postOnce(ctx, s, u); err != nil {
			return fmt.Errorf("--between-levels %s: %w", u.shown, err)
		}
	}
	return nil
}

// postOnce sends one request of --between-levels.
func postOnce(ctx context.Context, s *settings, u postURL) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.URL.String(), http.NoBody)
	if err != nil {
		return errors.New("expected an http or https URL") // the text may have a password
	}
	var secrets redact.Secrets
	secrets.AddQuery(u.RawQuery)
	own := backend.BasicAuthorization(u.User)
	if own != "" {
		req.Header.Set("Authorization", own)
		secrets.AddHeader("Authorization", own)
	}
	for _, h := range s.headersFor(u.tested) {
		if u.tested != "" && len(h.places) == 0 && (own == "" || !strings.EqualFold(h.name, "authorization")) {
			req.Header.Add(h.name, h.value)
			secrets.AddHeader(h.name, h.value)
		}
	}
	transport := &http.Transport{TLSClientConfig: s.tlsFor(u.Hostname()), DisableKeepAlives: true}
	if s.proxy != nil {
		transport.Proxy = func(r *http.Request) (*url.URL, error) { return s.proxy(r.URL) }
	}
	resp, err := transport.RoundTrip(req) // no redirects: they would take the key along
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	const most = 4 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	switch {
	case err != nil:
		return err
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return errors.New(strings.TrimSuffix(resp.Status+": "+secrets.Text(wireopenai.OneLine(body)), ": "))
	}
	return nil
}
