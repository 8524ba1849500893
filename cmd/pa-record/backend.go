package main

import (
	"net/http"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/fanout"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
)

// newBackend returns the protocol that s asks for, to one server or to several
// in turn, and to one model or several.
func newBackend(s *settings.Settings, urls []string) (backend.Backend, error) {
	if s.ServiceKind == settings.OpenAI || len(s.Models) == 0 {
		return newServers(s, s.Model, urls)
	}
	var targets []fanout.Target
	for _, model := range s.Models {
		b, err := newServers(s, model, urls)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, fanout.Target{Name: model, Backend: b})
	}
	return fanout.ByModel(targets)
}

// newServers returns the protocol for one model.
func newServers(s *settings.Settings, model string, urls []string) (backend.Backend, error) {
	var targets []fanout.Target
	for _, u := range urls {
		b, err := newTarget(s, model, u)
		if err != nil {
			return nil, err // those before hold nothing yet
		}
		targets = append(targets, fanout.Target{Name: redact.URL(u), Backend: b})
	}
	if len(targets) == 1 {
		return targets[0].Backend, nil
	}
	return fanout.RoundRobin(targets, s.Turns())
}

// newTarget returns the protocol for one model of one server.
func newTarget(s *settings.Settings, model, url string) (backend.Backend, error) {
	if s.ServiceKind == settings.OpenAI {
		return openai.New(s.OpenAIConfig(url))
	}
	cfg := kserve.Config{
		URL: url, Model: model, Version: s.ModelVersion, Streaming: s.Streaming, Parameters: s.RequestParameters, Bodies: s.Bodies,
		Shapes: s.Shapes, OthersShapes: len(s.Models) > 0, BatchSize: s.BatchSize, Style: s.RenderStyle, Render: s.RenderOptions(), Headers: http.Header{},
		Reuse: s.ReuseMode, PrewarmOptional: s.PrewarmOptional, Connections: s.GRPCConnections, Compression: s.Compression, JSONInputs: s.JSONInputs, JSONOutputs: s.JSONOutputs, SharedMemory: s.SharedMemory, OutputSharedBytes: s.OutputShared,
		Trace: kserve.Trace{Levels: s.TraceLevels, Rate: s.TraceRate, Count: s.TraceCount, LogFrequency: s.LogFrequency},
		Proxy: s.Proxy, TLS: s.TLSFor(settings.HostOf(url)),
		MaxAnswerMemory: s.MaxAnswerMemory, Sources: backend.NewSources(s.SourceIPs),
	}
	if s.Protocol == settings.GRPC {
		cfg.Protocol = kserve.GRPC
	}
	for _, h := range s.Headers {
		cfg.Headers.Add(h.Name, h.Value)
	}
	return kserve.New(cfg)
}
