package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/sim"
)

// simCommand is "pa-record sim": the simulated server as a process.
func simCommand(env environment) *cli.Command {
	newcomers := 0
	if files, ok := fileLimit(); ok {
		// The other half is for connections with requests.
		newcomers = int(min(max(files/2, 1), sim.DefaultMaxNewcomers))
	}
	return simserver.Command(env.relay.claim, newcomers)
}

// resolveTarget returns the URLs to send to: the URLs of s, or the URL of a simulated
// server that it starts for sim://, with the URL of its metrics. closeTarget stops that
// server.
func resolveTarget(ctx context.Context, s *settings) (urls []string, metrics string, closeTarget func(), err error) {
	if !s.simulated() {
		return s.rawURLs, "", func() {}, nil
	}
	cfg, err := sim.ParseAddress(s.rawURLs[0], simserver.LoadEncoder)
	if err != nil {
		return nil, "", nil, &cmdline.UsageError{Msg: "-u " + err.Error()}
	}
	cfg.LedgerLimit = -1
	if s.Model != "" {
		if err := s.kind().simulate(s, &cfg); err != nil {
			return nil, "", nil, err
		}
	}
	// The server must outlive an interrupted run's grace period.
	srv, err := sim.Start(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return nil, "", nil, err
	}
	target, metrics := s.kind().simulated(s, srv)
	return []string{target}, metrics + "/metrics", func() { _ = srv.Close() }, nil // no ledger to write
}

// simulateOpenAI lets the simulated server serve the models of s.
func simulateOpenAI(s *settings, cfg *sim.Config) error {
	cfg.Models = append([]string{s.Model}, s.moreModels()...)
	return nil
}

// simulateTriton checks that the simulated server serves the models of s.
func simulateTriton(s *settings, cfg *sim.Config) error {
	for _, name := range append([]string{s.Model}, s.moreModels()...) {
		if err := offersModel(cfg.TritonModels, name); err != nil {
			return err
		}
	}
	return nil
}

// offersModel returns a usage error when a simulated Triton server has no model of
// that name. What such a model takes is not in its name, so that the server cannot
// make one up as the OpenAI side does. models may be nil: the default ones.
func offersModel(models []sim.TritonModel, name string) error {
	if models == nil {
		models = sim.DefaultTritonModels()
	}
	names := make([]string, len(models))
	for i, m := range models {
		if m.Name == name {
			return nil
		}
		names[i] = m.Name
	}
	return &cmdline.UsageError{Msg: fmt.Sprintf("model %q: the simulated server has %s; to give it one of this name that takes what vLLM's backend takes write -u 'sim://?triton_model=%s:vllm', or :tensorrtllm",
		name, strings.Join(names, ", "), url.QueryEscape(name))}
}
