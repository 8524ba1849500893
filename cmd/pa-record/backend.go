package main

import (
	"net/http"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
)

// newBackend returns the protocol that s asks for, and the name of the model
// that it asks for, which is known after Check.
func newBackend(s *settings, url string, clock *rxclock.Clock) (b backend.Backend, model func() string, err error) {
	if s.ServiceKind == kindOpenAI {
		cfg := openai.Config{
			URL: url, Endpoint: s.Endpoint, Model: s.Model, Streaming: s.Streaming, ExtraBody: s.ExtraBody, Clock: clock,
		}
		for _, h := range s.headers {
			cfg.Headers = append(cfg.Headers, openai.Header{Name: h.name, Value: h.value})
		}
		b, err := openai.New(cfg)
		if err != nil {
			return nil, nil, err
		}
		return b, b.Model, nil
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
	b, err = kserve.New(cfg)
	return b, func() string { return s.Model }, err
}
