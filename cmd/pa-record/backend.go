package main

import (
	"net/http"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// newBackend returns the protocol that s asks for.
func newBackend(s *settings, url string, clock *rxclock.Clock) (backend.Backend, error) {
	if s.ServiceKind == kindOpenAI {
		cfg := openai.Config{
			URL: url, Endpoint: s.Endpoint, Model: s.Model, Streaming: s.Streaming, ExtraBody: s.ExtraBody, Clock: clock,
		}
		for _, h := range s.headers {
			cfg.Headers = append(cfg.Headers, openai.Header{Name: h.name, Value: h.value})
		}
		return openai.New(cfg)
	}
	cfg := kserve.Config{
		URL: url, Model: s.Model, Version: s.ModelVersion, Streaming: s.Streaming, Parameters: s.parameters,
		Shapes: s.Shapes, BatchSize: s.BatchSize, Clock: clock, Headers: http.Header{},
	}
	if s.Protocol == protocolGRPC {
		cfg.Protocol = kserve.GRPC
	}
	for _, h := range s.headers {
		cfg.Headers.Add(h.name, h.value)
	}
	return kserve.New(cfg)
}
