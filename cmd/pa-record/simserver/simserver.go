package simserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/tlsfiles"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// Command returns "pa-record sim". It serves until the input ends, its context is done, or a signal comes: claim takes the
// signals of the process over until release is called. newcomers bounds the connections without a request; 0 means
// [sim.DefaultMaxNewcomers].
func Command(claim func() (signals <-chan os.Signal, release func()), newcomers int) *cli.Command {
	cfg := &sim.Config{MaxNewcomers: newcomers}
	return &cli.Command{
		Name:        "sim",
		Usage:       "run a simulated LLM server",
		Description: description(),
		Flags:       flags(cfg),
		Action:      func(c *cli.Context) error { return serve(c, cfg, claim) },
	}
}

// serve runs the command: it serves until it is stopped, and writes the ledger.
func serve(c *cli.Context, cfg *sim.Config, claim func() (signals <-chan os.Signal, release func())) (err error) {
	if c.Args().Present() {
		return cmdline.Usagef("unexpected argument %q; pa-record sim takes flags only", c.Args().First())
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	if err := read(c, cfg); err != nil {
		return err
	}
	if path := c.String("tokenizer"); path != "" {
		if cfg.Encode, err = LoadEncoder(path); err != nil {
			return &cmdline.UsageError{Msg: fmt.Sprintf("--tokenizer: %v", err)}
		}
	}
	var ledger *disk.Output // nil: none is asked for
	if path := c.String("ledger"); path != "" {
		if ledger, err = disk.OpenOutput(c.Context, path, disk.Options{Overwrite: true}); err != nil {
			return cmdline.Refusedf("--ledger %v", err)
		}
		defer func() { err = errors.Join(err, ledger.Close()) }()
	}
	sim.TakeCompressed()
	srv, err := sim.Start(c.Context, *cfg)
	if errors.Is(err, syscall.EADDRINUSE) {
		var names []string
		for _, a := range APIs {
			names = append(names, "--"+a.Flag)
		}
		last := len(names) - 1
		return fmt.Errorf("%w; %s and %s take another address, or %s", err, strings.Join(names[:last], ", "), names[last], sim.Off)
	}
	if err != nil {
		return err
	}
	for _, a := range APIs {
		if addr := a.url(srv); addr != "" {
			fmt.Fprintf(c.App.Writer, "%s: %s\n", a.name, addr)
		}
	}
	eof := make(chan struct{})
	if c.Bool("stop-at-eof") {
		go func() { // ends with the input, at the latest with the process
			_, _ = io.Copy(io.Discard, c.App.Reader)
			close(eof)
		}()
	}
	signals, release := claim()
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

// APIs lists the APIs of "pa-record sim": the flag of the address to listen on, with its default and what comes there;
// the name in what is printed; the address in the configuration and of the server.
var APIs = []struct {
	Flag, addr, requests, name string
	config                     func(*sim.Config) *string
	url                        func(*sim.Server) string
}{
	{"openai-addr", "127.0.0.1:8000", "OpenAI requests", "OpenAI", func(c *sim.Config) *string { return &c.OpenAIAddr }, (*sim.Server).OpenAIURL},
	{"triton-grpc-addr", "127.0.0.1:8001", "Triton gRPC", "Triton gRPC", func(c *sim.Config) *string { return &c.TritonGRPCAddr }, (*sim.Server).TritonGRPCAddr},
	{"triton-http-addr", "127.0.0.1:8080", "Triton HTTP", "Triton HTTP", func(c *sim.Config) *string { return &c.TritonHTTPAddr }, (*sim.Server).TritonHTTPURL},
}

// Addresses returns the flags of the command by which the simulated server listens for the APIs of these flags only, on free ports.
func Addresses(flags ...string) (args []string) {
	for _, a := range APIs {
		addr := sim.Off
		if slices.Contains(flags, a.Flag) {
			addr = sim.DefaultAddr
		}
		args = append(args, "--"+a.Flag, addr)
	}
	return args
}

// flags returns the flags of "pa-record sim". Those with one value write it into cfg.
func flags(cfg *sim.Config) []cli.Flag {
	var all []cli.Flag
	for _, a := range APIs {
		all = append(all, &cli.StringFlag{Name: a.Flag, Category: "Addresses", Usage: "listen on `ADDR` for " + a.requests + "; off: do not", Value: a.addr, Destination: a.config(cfg)})
	}
	return append(all,
		cmdline.Reads(&cli.StringFlag{Name: "api-key-file", Category: "Addresses", Usage: "refuse OpenAI requests without the key in `FILE`"}, nil),
		&cli.StringSliceFlag{Name: "model", Aliases: []string{"m"}, Category: "Behaviour", Usage: "`NAME` of a model that the OpenAI API serves (repeatable; default: sim)"},
		&cli.StringSliceFlag{Name: "triton-model", Category: "Behaviour", Usage: "serve `NAME:INTERFACE` over the Triton APIs instead of the models above: vllm, vllm_2309, tensorrtllm or add_sub (repeatable)"},
		&cli.StringFlag{Name: "ttft", Category: "Behaviour", Usage: "`DELAY` to the first token", DefaultText: sim.DefaultTTFT.String()},
		&cli.StringFlag{Name: "itl", Category: "Behaviour", Usage: "`DELAY` from token to token", DefaultText: sim.DefaultITL.String()},
		&cli.StringFlag{Name: "output-tokens", Category: "Behaviour", Usage: "the model stops by itself after `LENGTH` tokens", DefaultText: strconv.Itoa(sim.DefaultOutputTokens)},
		&cli.DurationFlag{Name: "prefill-per-token", Category: "Behaviour", Usage: "`DURATION` added to the first token for each input token that is not in the prefix cache", DefaultText: "0", Destination: &cfg.PrefillPerToken},
		cmdline.Reads(&cli.StringFlag{Name: "tokenizer", Category: "Behaviour", Usage: "count input tokens with the tokenizer in `FILE`, such as tokenizer.json, or in a folder; built-in is pa-record's own", DefaultText: "words"}, tokenizer.FilesAt),
		&cli.BoolFlag{Name: "prefix-cache", Category: "Behaviour", Usage: "keep the prompts and answers of chat completions and completions in a prefix cache, and state the cached tokens in usage; the other flags of the cache turn it on, too"},
		&cli.Int64Flag{Name: "cache-tokens", Category: "Behaviour", Usage: "size of the prefix cache in tokens: `N`; the least recently used block leaves it", DefaultText: "no limit"},
		&cli.IntFlag{Name: "cache-block", Category: "Behaviour", Usage: "the prefix cache holds whole blocks of `N` tokens", Value: sim.DefaultCacheBlock},
		&cli.BoolFlag{Name: "cache-prompts-only", Category: "Behaviour", Usage: "only prompts fill the prefix cache, and answers do not"},
		&cli.IntFlag{Name: "tokens-per-event", Category: "Behaviour", Usage: "`N` tokens share an event", Value: 1, Destination: &cfg.TokensPerEvent},
		&cli.IntFlag{Name: "max-concurrency", Category: "Behaviour", Usage: "work on `N` requests at a time, queue the others", DefaultText: "no limit", Destination: &cfg.MaxConcurrency},
		&cli.StringFlag{Name: "vocabulary", Category: "Behaviour", Usage: "`WORDS` of the answers: plain, tricky (quotes, control characters, emoji), or stamp (each token is the time at which it was sent)", Value: "plain"},
		&cli.StringFlag{Name: "server-details", Category: "Behaviour", Usage: "chats and completions state times and cache of each request as `SERVER` does: vllm, sglang or llamacpp"},
		&cli.Uint64Flag{Name: "seed", Category: "Behaviour", Usage: "seed `N` of everything random", Destination: &cfg.Seed},
		&cli.StringSliceFlag{Name: "fault", Category: "Behaviour", Usage: "inject a fault: `RULE` is one of the faults above, as in http_500:every=10 or reset:every=5,after=3 (repeatable; the first that fits a request counts)"},
		&cli.BoolFlag{Name: "kernel-sends", Category: "Output", Usage: "let the kernel record when each write over HTTP left; each write costs a few system calls more", Destination: &cfg.KernelSends},
		&cli.StringFlag{Name: "ledger-content", Category: "Output", Usage: "keep `WHAT` of each write in the ledger: bytes (and times), hash (and times), times, or none (no ledger)", Value: "bytes"},
		cmdline.Writes(&cli.StringFlag{Name: "ledger", Category: "Output", Usage: "write what was sent, and when, to `FILE` at the end, as JSON lines"}),
		&cli.BoolFlag{Name: "stop-at-eof", Category: "Output", Usage: "also stop when standard input ends, as it does when the process that started this one ends"},
		cmdline.ConfigFlag("Output"),
	)
}

// description returns the text of the help page, with the simulator's own lists of
// faults and models.
func description() string {
	var b strings.Builder
	b.WriteString(`It answers as an OpenAI-compatible server and as a Triton server, with random
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

// read checks the flags and completes the configuration. Its error is a [*cmdline.UsageError]
// with all mistakes. It does not open the ledger's file, nor the tokenizer's.
func read(c *cli.Context, cfg *sim.Config) error {
	cfg.Models = c.StringSlice("model")
	var errs []error
	for _, a := range APIs {
		addr := *a.config(cfg)
		if _, _, err := net.SplitHostPort(addr); err != nil && addr != sim.Off {
			errs = append(errs, fmt.Errorf("--%s %s: expected an address such as 127.0.0.1:8000, or %s", a.Flag, addr, sim.Off))
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
	settings := sim.Settings{Config: cfg}
	set := func(flag, value string) {
		errs = append(errs, settings.Set(strings.ReplaceAll(flag, "-", "_"), "--"+flag, value))
	}
	for _, name := range []string{"prefix-cache", "cache-tokens", "cache-block", "cache-prompts-only"} {
		if c.IsSet(name) {
			set(name, fmt.Sprint(c.Value(name)))
		}
	}
	for _, name := range []string{"ttft", "itl", "output-tokens", "vocabulary", "server-details"} {
		if v := c.String(name); v != "" {
			set(name, v)
		}
	}
	for _, name := range []string{"triton-model", "fault"} {
		for _, v := range c.StringSlice(name) {
			set(name, v)
		}
	}
	if path := c.String("api-key-file"); path != "" {
		key, err := disk.ReadFile(c.Context, path, tlsfiles.MaxBytes)
		cfg.APIKey = strings.TrimSpace(string(key))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--api-key-file: %w", err))
		case cfg.APIKey == "": // which would let every request pass
			errs = append(errs, fmt.Errorf("--api-key-file: %s is empty", path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &cmdline.UsageError{Msg: err.Error()}
	}
	return nil
}

// LoadEncoder returns what encodes with the tokenizer in a file or folder, for a simulated server.
func LoadEncoder(path string) (func(dst []uint32, text string) []uint32, error) {
	load := tokenizer.Load
	if path == builtin.Name {
		load = func(string) (*tokenizer.Tokenizer, error) { return builtin.Load() }
	}
	tok, err := load(path)
	if err != nil {
		return nil, err
	}
	return tok.AppendEncode, nil
}
