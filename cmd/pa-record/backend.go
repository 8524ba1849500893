package main

import (
	"net/http"

	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/fanout"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// newBackend returns the protocol that s asks for, to one server or to several
// in turn, and to one model or several.
func newBackend(s *settings, urls []string, clock *rxclock.Clock) (backend.Backend, error) {
	if s.ServiceKind == kindOpenAI || len(s.Models) == 0 {
		return newServers(s, s.Model, urls, clock)
	}
	var targets []fanout.Target
	for _, model := range s.Models {
		b, err := newServers(s, model, urls, clock)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, fanout.Target{Name: model, Backend: b})
	}
	return fanout.ByModel(targets)
}

// newServers returns the protocol for one model.
func newServers(s *settings, model string, urls []string, clock *rxclock.Clock) (backend.Backend, error) {
	var targets []fanout.Target
	for _, u := range urls {
		b, err := newTarget(s, model, u, clock)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, fanout.Target{Name: redact.URL(u), Backend: b})
	}
	if len(targets) == 1 {
		return targets[0].Backend, nil
	}
	return fanout.RoundRobin(targets, s.turns())
}

// newTarget returns the protocol for one model of one server.
func newTarget(s *settings, model, url string, clock *rxclock.Clock) (backend.Backend, error) {
	if s.ServiceKind == kindOpenAI {
		return openai.New(openAIConfig(s, url, clock))
	}
	cfg := kserve.Config{
		URL: url, Model: model, Version: s.ModelVersion, Streaming: s.Streaming, Parameters: s.parameters,
		Shapes: s.Shapes, OthersShapes: len(s.Models) > 0, BatchSize: s.BatchSize, Style: s.style, Render: s.render(), Clock: clock, Headers: http.Header{},
		Reuse: s.reuse, Connections: s.GRPCConnections, Compression: s.Compression, JSONInputs: s.JSONInputs, JSONOutputs: s.JSONOutputs, SharedMemory: s.SharedMemory, OutputSharedBytes: s.OutputShared, Trace: s.trace(), Proxy: s.proxy, TLS: s.tlsFor(hostOf(url)),
		MaxAnswerMemory: s.MaxAnswerMemory,
	}
	if s.Protocol == protocolGRPC {
		cfg.Protocol = kserve.GRPC
	}
	for _, h := range s.headers {
		cfg.Headers.Add(h.name, h.value)
	}
	return kserve.New(cfg)
}

func openAIConfig(s *settings, url string, clock *rxclock.Clock) openai.Config {
	cfg := openai.Config{
		URL: url, Endpoint: s.rawEndpoint, Model: s.Model, Models: s.moreModels(), Streaming: s.Streaming, Render: s.render(), ExtraBody: s.ExtraBody, Clock: clock,
		TLS: s.tlsFor(hostOf(url)), Transport: s.openAITransport, HTTP2: s.HTTP2, Reuse: s.reuse, Proxy: s.proxy,
		MaxAnswerMemory: s.MaxAnswerMemory,
	}
	for _, h := range s.headers {
		cfg.Headers = append(cfg.Headers, openai.Header{Name: h.name, Value: h.value})
	}
	return cfg
}
