package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// simCommand is "pa-record sim": the simulated server as a process.
func simCommand(env environment) *cli.Command {
	return &cli.Command{
		Name:        "sim",
		Usage:       "run a simulated LLM server",
		Description: simDescription(),
		Flags:       simFlags(),
		Action:      func(c *cli.Context) error { return serveSim(c, env) },
	}
}

func serveSim(c *cli.Context, env environment) (err error) {
	if c.Args().Present() {
		return cmdline.Usagef("unexpected argument %q; pa-record sim takes flags only", c.Args().First())
	}
	cfg, err := newSimConfig(c)
	if err != nil {
		return err
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	var ledger *disk.Output // nil: none is asked for
	if path := c.String("ledger"); path != "" {
		if ledger, err = disk.OpenOutput(c.Context, path, disk.Options{Overwrite: true}); err != nil {
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
	signals, release := env.relay.claim()
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
func resolveTarget(ctx context.Context, s *settings) (urls []string, metrics string, closeTarget func(), err error) {
	if !s.simulated() {
		return s.rawURLs, "", func() {}, nil
	}
	cfg, err := simConfigOf(s.rawURLs[0])
	if err != nil {
		return nil, "", nil, &cmdline.UsageError{Msg: err.Error()}
	}
	cfg.LedgerLimit = -1
	switch {
	case s.Model == "":
	case s.ServiceKind == kindOpenAI:
		cfg.Models = append([]string{s.Model}, s.moreModels()...)
	default:
		for _, name := range append([]string{s.Model}, s.moreModels()...) {
			if err := offersModel(cfg.TritonModels, name); err != nil {
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
	if s.ServiceKind == kindOpenAI {
		target = srv.OpenAIURL()
	}
	metrics = target + "/metrics"
	if s.ServiceKind != kindOpenAI && s.Protocol == protocolGRPC {
		target = srv.TritonGRPCAddr()
	}
	return []string{target}, metrics, func() { _ = srv.Close() }, nil // no ledger to write
}

// simFlags returns the flags of "pa-record sim".
func simFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "openai-addr", Category: "Addresses", Usage: "listen on `ADDR` for OpenAI requests; off: do not", Value: "127.0.0.1:8000"},
		&cli.StringFlag{Name: "triton-grpc-addr", Category: "Addresses", Usage: "listen on `ADDR` for Triton gRPC; off: do not", Value: "127.0.0.1:8001"},
		&cli.StringFlag{Name: "triton-http-addr", Category: "Addresses", Usage: "listen on `ADDR` for Triton HTTP; off: do not", Value: "127.0.0.1:8080"},
		cmdline.Reads(&cli.StringFlag{Name: "api-key-file", Category: "Addresses", Usage: "refuse OpenAI requests without the key in `FILE`"}, nil),
		&cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Category: "Behaviour", Usage: "`NAME` of a model that the OpenAI API serves (repeatable; default: sim)"},
		&cli.StringSliceFlag{Name: "triton-model", Category: "Behaviour", Usage: "serve `NAME:INTERFACE` over the Triton APIs instead of the models above: vllm, vllm_2309, tensorrtllm or add_sub (repeatable)"},
		&cli.StringFlag{Name: "ttft", Category: "Behaviour", Usage: "`DELAY` to the first token", DefaultText: sim.DefaultTTFT.String()},
		&cli.StringFlag{Name: "itl", Category: "Behaviour", Usage: "`DELAY` from token to token", DefaultText: sim.DefaultITL.String()},
		&cli.StringFlag{Name: "output-tokens", Category: "Behaviour", Usage: "`LENGTH` at which the model stops by itself", DefaultText: strconv.Itoa(sim.DefaultOutputTokens)},
		&cli.DurationFlag{Name: "prefill-per-token", Category: "Behaviour", Usage: "`DURATION` added to the first token for each input token", DefaultText: "0"},
		&cli.IntFlag{Name: "tokens-per-event", Category: "Behaviour", Usage: "`N` tokens share an event", Value: 1},
		&cli.IntFlag{Name: "max-concurrency", Category: "Behaviour", Usage: "work on `N` requests at a time, queue the others", DefaultText: "no limit"},
		&cli.StringFlag{Name: "vocabulary", Category: "Behaviour", Usage: "`WORDS` of the answers: plain, tricky (quotes, control characters, emoji), or stamp (each token is the time at which it was sent)", Value: "plain"},
		&cli.Uint64Flag{Name: "seed", Category: "Behaviour", Usage: "seed `N` of everything random"},
		&cli.StringSliceFlag{Name: "fault", Category: "Behaviour", Usage: "let something go wrong: `RULE` is one of the faults above, as in http_500:every=10 or reset:every=5,after=3 (repeatable; the first that fits a request counts)"},
		&cli.BoolFlag{Name: "kernel-sends", Category: "Output", Usage: "have the kernel note when each write over HTTP left; costs the server a few system calls each"},
		&cli.StringFlag{Name: "ledger-content", Category: "Output", Usage: "`WHAT` to remember of each write: bytes (and times), hash (and times), times, or none: no ledger at all", Value: "bytes"},
		cmdline.Writes(&cli.StringFlag{Name: "ledger", Category: "Output", Usage: "write what was sent, and when, to `FILE` at the end, as JSON lines"}),
		&cli.BoolFlag{Name: "stop-at-eof", Category: "Output", Usage: "stop when standard input ends too, as it does with the process that started this one"},
		cmdline.ConfigFlag("Output"),
	}
}

// simDescription returns the text of the help page, with the simulator's own lists of
// faults and models.
func simDescription() string {
	var b strings.Builder
	b.WriteString(`It answers as an OpenAI-compatible server and as a Triton server, with made-up
words at a chosen pace, until it is interrupted. Delays are a duration or a
distribution: 20ms, normal:20ms,2ms, lognormal:20ms,5ms (mean, standard
deviation); lengths likewise: 64, normal:64,8. It remembers what it sent and
when: GET /ledger on the OpenAI address, or --ledger FILE at its end. Metrics
are at /metrics: vLLM's there, Triton's on the Triton HTTP address.

The same server answers inside pa-record, with the same settings:
  pa-record -u 'sim://?ttft=50ms&itl=10ms&output_tokens=64'

Models of the Triton server:
`)
	for _, m := range sim.DefaultTritonModels() {
		fmt.Fprintf(&b, "  %-15s %s\n", m.Name, m.Interface.Takes())
	}
	fmt.Fprintf(&b, `
Faults, for --fault FAULT[:every=n,after=k]: each n-th request suffers it
(default: all), where that makes sense after k tokens (default: %d):
`, plan.DefaultFaultAfter)
	for _, f := range plan.Faults() {
		fmt.Fprintf(&b, "  %-15s %s\n", f, f.Does())
	}
	return b.String()
}

// newSimConfig returns the configuration that the flags set. Its error is a
// [*cmdline.UsageError] with all mistakes. It does not open the ledger's file.
func newSimConfig(c *cli.Context) (sim.Config, error) {
	cfg := sim.Config{
		OpenAIAddr: c.String("openai-addr"), TritonGRPCAddr: c.String("triton-grpc-addr"), TritonHTTPAddr: c.String("triton-http-addr"),
		Models: c.StringSlice("model"), PrefillPerToken: c.Duration("prefill-per-token"), TokensPerEvent: c.Int("tokens-per-event"),
		MaxConcurrency: c.Int("max-concurrency"), Seed: c.Uint64("seed"), KernelSends: c.Bool("kernel-sends"),
	}
	var errs []error
	for _, name := range []string{"openai-addr", "triton-grpc-addr", "triton-http-addr"} {
		if addr := c.String(name); addr != sim.Off {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				errs = append(errs, fmt.Errorf("--%s %s: expected an address such as 127.0.0.1:8000, or %s", name, addr, sim.Off))
			}
		}
	}
	switch content := c.String("ledger-content"); content {
	case "bytes":
	case "hash":
		cfg.LedgerHashOnly = true
	case "times":
		cfg.LedgerTimesOnly = true
	case "none":
		cfg.LedgerLimit = -1
		if c.String("ledger") != "" {
			errs = append(errs, errors.New("--ledger and --ledger-content none exclude each other; drop one"))
		}
	default:
		errs = append(errs, fmt.Errorf("--ledger-content %s: expected bytes, hash, times or none", content))
	}
	for _, name := range []string{"ttft", "itl", "output-tokens", "vocabulary"} {
		if v := c.String(name); v != "" {
			errs = append(errs, setSim(&cfg, strings.ReplaceAll(name, "-", "_"), v))
		}
	}
	for _, m := range c.StringSlice("triton-model") {
		errs = append(errs, setSim(&cfg, "triton_model", m))
	}
	for _, rule := range c.StringSlice("fault") {
		errs = append(errs, setSim(&cfg, "fault", rule))
	}
	if path := c.String("api-key-file"); path != "" {
		key, err := disk.ReadFile(c.Context, path, maxTLSFileBytes)
		errs = append(errs, err)
		cfg.APIKey = strings.TrimSpace(string(key))
	}
	if err := errors.Join(errs...); err != nil {
		return cfg, &cmdline.UsageError{Msg: err.Error()}
	}
	return cfg, nil
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

// simConfigOf returns the configuration that an address such as sim://?ttft=20ms&seed=7 sets.
// Its keys are the flags of the simulator that shape an answer, with _ for -; [setSim] has the
// list. Its error names the address, and the key whose value is wrong or unknown.
func simConfigOf(s string) (cfg sim.Config, err error) {
	u, err := url.Parse(s)
	if err != nil {
		return cfg, fmt.Errorf("-u %s: %w", s, err)
	}
	if u.Host != "" || strings.Trim(u.Path, "/") != "" {
		return cfg, fmt.Errorf("-u %s: a simulated server has no address; write sim:// or sim://?ttft=20ms&itl=5ms", s)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return cfg, fmt.Errorf("-u %s: %w", s, err)
	}
	for key, values := range q {
		for _, v := range values {
			if err := setSim(&cfg, key, v); err != nil {
				return cfg, fmt.Errorf("-u %s: %w", s, err)
			}
		}
	}
	return cfg, nil
}

// setSim sets one field of a simulated server's configuration by name.
func setSim(cfg *sim.Config, key, value string) (err error) {
	switch key {
	case "ttft":
		cfg.TTFT, err = plan.ParseDelay(value)
	case "itl":
		cfg.ITL, err = plan.ParseDelay(value)
	case "output_tokens":
		cfg.OutputTokens, err = plan.ParseLength(value)
	case "prefill_per_token":
		cfg.PrefillPerToken, err = parseSim(value, time.ParseDuration, "a duration such as 5ms")
	case "tokens_per_event":
		cfg.TokensPerEvent, err = parseSim(value, strconv.Atoi, "a whole number")
	case "max_concurrency":
		cfg.MaxConcurrency, err = parseSim(value, strconv.Atoi, "a whole number")
	case "seed":
		cfg.Seed, err = parseSim(value, func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) }, "a whole number that is not negative")
	case "kernel_sends":
		cfg.KernelSends, err = parseSim(value, strconv.ParseBool, "true or false")
	case "vocabulary":
		cfg.Vocabulary, err = plan.ParseVocabulary(value)
	case "triton_model":
		var m sim.TritonModel
		m, err = sim.ParseTritonModel(value)
		cfg.TritonModels = append(cfg.TritonModels, m)
	case "fault":
		var rule plan.FaultRule
		rule, err = plan.ParseFaultRule(value)
		cfg.Faults = append(cfg.Faults, rule)
	default:
		return fmt.Errorf("unknown setting %q of the simulated server; it has ttft, itl, output_tokens, prefill_per_token, tokens_per_event, max_concurrency, seed, kernel_sends, vocabulary, triton_model and fault", key)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// parseSim parses a value; the error names the expected kind of value.
func parseSim[T any](value string, parse func(string) (T, error), expected string) (T, error) {
	v, err := parse(value)
	if err != nil {
		return v, fmt.Errorf("%q is not %s", value, expected)
	}
	return v, nil
}
