package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/cmd/pa-record/internal/simsettings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/sim"
)

// simCommand is "pa-record sim": the simulated server as a process.
func simCommand(env environment) *cli.Command {
	return &cli.Command{
		Name:        "sim",
		Usage:       "run a simulated LLM server",
		Description: simsettings.Description(),
		Flags:       simsettings.Flags(),
		Action:      func(c *cli.Context) error { return serveSim(c, env) },
	}
}

func serveSim(c *cli.Context, env environment) (err error) {
	if c.Args().Present() {
		return cmdline.Usagef("unexpected argument %q; pa-record sim takes flags only", c.Args().First())
	}
	cfg, err := simsettings.New(c)
	if err != nil {
		return err
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	var ledger *outfile.File // nil: none is asked for
	if path := c.String("ledger"); path != "" {
		if ledger, err = outfile.Open(c.Context, path, outfile.Options{Overwrite: true}); err != nil {
			return cmdline.Refusedf("--ledger %v", err)
		}
		defer func() { err = errors.Join(err, ledger.Close()) }()
	}
	if files, ok := fileLimit(); ok {
		// The other half is for connections with requests.
		cfg.MaxNewcomers = int(min(max(files/2, 1), sim.DefaultMaxNewcomers))
	}
	sim.TakeCompressed()
	srv, err := sim.Start(c.Context, cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; --openai-addr, --triton-grpc-addr and --triton-http-addr take another address, or %s", err, sim.Off)
	}
	if err != nil {
		return err
	}
	for _, l := range []struct{ what, addr string }{
		{"OpenAI", srv.OpenAIURL()}, {"Triton gRPC", srv.TritonGRPCAddr()}, {"Triton HTTP", srv.TritonHTTPURL()},
	} {
		if l.addr != "" {
			fmt.Fprintf(c.App.Writer, "%s: %s\n", l.what, l.addr)
		}
	}
	eof := make(chan struct{})
	if c.Bool("stop-at-eof") {
		go func() { // ends with the input, at the latest with the process
			_, _ = io.Copy(io.Discard, c.App.Reader)
			close(eof)
		}()
	}
	signals, release := env.relay.Claim()
	defer release()
	select {
	case <-signals:
	case <-eof:
	case <-c.Done():
	}
	err = srv.Close()
	if ledger != nil {
		err = errors.Join(err, ledger.Write(c.Context, srv.WriteLedger))
	}
	if n := srv.DroppedConnections(); n > 0 {
		fmt.Fprintf(c.App.ErrWriter, "pa-record sim: note: closed %s that sent no request, because newer ones came; at most %s of them stay open\n", plural.GroupedOf(n, "connection"), plural.Grouped(cfg.MaxNewcomers))
	}
	return err
}

// resolveTarget returns the URLs to send to: the URLs of s, or the URL of a simulated
// server that it starts for sim://, with the URL of its metrics. closeTarget stops that
// server.
func resolveTarget(ctx context.Context, s *settings.Settings) (urls []string, metrics string, closeTarget func(), err error) {
	if !s.Simulated() {
		return s.RawURLs, "", func() {}, nil
	}
	cfg, err := simsettings.FromURL(s.RawURLs[0])
	if err != nil {
		return nil, "", nil, &cmdline.UsageError{Msg: err.Error()}
	}
	cfg.LedgerLimit = -1
	switch {
	case s.Model == "":
	case s.ServiceKind == settings.OpenAI:
		cfg.Models = append([]string{s.Model}, s.MoreModels()...)
	default:
		for _, name := range append([]string{s.Model}, s.MoreModels()...) {
			if err := simsettings.OffersModel(cfg.TritonModels, name); err != nil {
				return nil, "", nil, err
			}
		}
	}
	// The server must outlive an interrupted run's grace period.
	srv, err := sim.Start(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return nil, "", nil, err
	}
	// Metrics come by HTTP, also if requests go by gRPC.
	target := srv.TritonHTTPURL()
	if s.ServiceKind == settings.OpenAI {
		target = srv.OpenAIURL()
	}
	metrics = target + "/metrics"
	if s.ServiceKind != settings.OpenAI && s.Protocol == settings.GRPC {
		target = srv.TritonGRPCAddr()
	}
	return []string{target}, metrics, func() { _ = srv.Close() }, nil // no ledger to write
}
