package main

import (
	"slices"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/sim"
)

// A serviceKind is a value of --service-kind: what differs between the protocols of servers.
type serviceKind struct {
	name string
	// addr returns the address of a server without -u.
	addr func(s *settings) string
	// check reads and checks the settings that belong to the kind.
	check func(p *parser, s *settings)
	// transport sets how requests are sent; asked is --transport. It is for settings without mistakes.
	transport func(p *parser, s *settings, asked openai.Transport)
	// backend returns the backend for one model of the server at url.
	backend func(s *settings, model, url string) (backend.Backend, error)
	// modelInBody means that one backend sends to all models, because requests name theirs.
	modelInBody bool
	// builtin makes the entries that are sent without --input-data.
	builtin func(e *inputData, s *settings, fill workload.Fill) error
	// form returns the function that makes the request of an entry. requestForm adds the session,
	// the think time and the schedule.
	form func(s *settings) (func(*workload.Entry) (export.Fields, error), error)
	// metricsPort is the usual port of the metrics; "" for the port of the requests.
	metricsPort string
	// simulate prepares the configuration of a simulated server for the models of s.
	simulate func(s *settings, cfg *sim.Config) error
	// simulated returns the address of a simulated server, and the URL of the server with its metrics.
	simulated func(s *settings, srv *sim.Server) (target, metrics string)
}

// serviceKinds lists the kinds; the first is the default.
func serviceKinds() []serviceKind {
	return []serviceKind{
		{
			name: kindTriton, check: (*parser).triton, transport: (*parser).tritonTransport, backend: newTriton,
			addr: func(s *settings) string {
				if s.Protocol == protocolGRPC {
					return "localhost:8001"
				}
				return "localhost:8000"
			},
			builtin: builtinTensors, form: tritonForm, metricsPort: "8002",
			simulate: simulateTriton,
			simulated: func(s *settings, srv *sim.Server) (target, metrics string) {
				if s.Protocol == protocolGRPC {
					return srv.TritonGRPCAddr(), srv.TritonHTTPURL() // metrics come by HTTP
				}
				return srv.TritonHTTPURL(), srv.TritonHTTPURL()
			},
		},
		{
			name: kindOpenAI, check: (*parser).openAI, transport: (*parser).openAITransports,
			backend: func(s *settings, _, url string) (backend.Backend, error) { return s.Realtime.New(s.openAIConfig(url)) },
			addr:    func(*settings) string { return "localhost:8000" },
			builtin: builtinPrompts, form: openAIForm, modelInBody: true,
			simulate: simulateOpenAI,
			simulated: func(_ *settings, srv *sim.Server) (target, metrics string) {
				return srv.OpenAIURL(), srv.OpenAIURL()
			},
		},
	}
}

// kind returns the kind of the server; the default for a name that is none.
func (s *settings) kind() *serviceKind {
	all := serviceKinds()
	i := slices.IndexFunc(all, func(k serviceKind) bool { return k.name == s.ServiceKind })
	return &all[max(i, 0)]
}

// kindNames lists the names of the kinds.
func kindNames() []string {
	var all []string
	for _, k := range serviceKinds() {
		all = append(all, k.name)
	}
	return all
}

// kindsAndDefault lists the kinds for people: "triton (the default) or openai".
func kindsAndDefault() string {
	all := kindNames()
	all[0] += " (the default)"
	return cmdline.OneOf(all)
}
