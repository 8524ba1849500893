package settings

import (
	"cmp"
	"errors"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// MeasureFlags returns the flags that choose how requests are measured.
func MeasureFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "from", Usage: "count latencies from `WHEN`: start (first byte left), sent (last byte), issued (before connecting) or scheduled", Value: "start", Category: "Counting"},
		TokenSourceFlag(),
		&cli.BoolFlag{Name: "include-warmup", Usage: "count warm-up requests too", Category: "Counting"},
	}
}

// StreamingFlag returns --streaming, which says whether answers were streamed, for our
// own definitions and for other tools'.
func StreamingFlag() cli.Flag {
	return &cli.BoolFlag{Name: "streaming", Usage: "treat answers as streamed; --streaming=false: as not streamed, without TTFT, TTST, ITL and TPOT (default: as the file says)", Category: "Counting"}
}

// MemoryFlag returns --memory-limit of the commands that read all requests of a run.
func MemoryFlag() cli.Flag {
	return &cli.Int64Flag{Name: "memory-limit", Usage: "take about `BYTES` of memory; values and requests that do not fit go to a file in $TMPDIR, and all figures stay exact", Value: analyze.DefaultMemoryLimit, Category: "Input"}
}

// Config reads the flags of MeasureFlags and SelectionFlags, --streaming and
// --tokenizer.
func Config(c *cli.Context) (cfg analyze.Config, err error) {
	if cfg.From, err = answer.ParseFrom(c.String("from")); err != nil {
		return cfg, cmdline.Usagef("--from %v", err)
	}
	tokens, err := Tokens(c)
	if err != nil {
		return cfg, err
	}
	cfg.TokenSource, cfg.Counter = tokens.TokenSource, tokens.Counter
	if tokens.Counter != nil {
		cfg.Tokenizer = &analyze.Tokenizer{Name: cmp.Or(c.String("tokenizer"), builtin.Name), SHA256: tokens.Tokenizer}
	}
	cfg.IncludeWarmup = c.Bool("include-warmup")
	if c.IsSet("streaming") {
		streaming := c.Bool("streaming")
		cfg.Streaming = &streaming
	}
	cfg.Selection, err = selection(c)
	return cfg, err
}

// ReportConfig reads the flags of a report: Config's, windows, objectives, QualityFlags and the
// limit of memory.
func ReportConfig(c *cli.Context) (analyze.Config, error) {
	cfg, err := Config(c)
	if err != nil {
		return cfg, err
	}
	if cfg.Windows, err = Windows(c); err != nil {
		return cfg, err
	}
	if err := Quality(c, &cfg); err != nil {
		return cfg, err
	}
	if err := limitMemory(c, &cfg); err != nil {
		return cfg, err
	}
	if err := Economics(c, &cfg); err != nil {
		return cfg, err
	}
	return cfg, objective(c, &cfg)
}

// heapShare is the share of --memory-limit that the Go heap gets; the rest is for the program itself.
const heapShare = 0.75

// KeepToMemoryLimit reads --memory-limit, for commands that keep something of each request. Their heap is collected
// more often when it comes near the limit; GOMEMLIMIT may set a lower one.
func KeepToMemoryLimit(c *cli.Context) (int64, error) {
	limit, err := MemoryLimit(c)
	if err == nil {
		debug.SetMemoryLimit(min(int64(heapShare*float64(limit)), debug.SetMemoryLimit(-1)))
	}
	return limit, err
}

// limitMemory reads --memory-limit for a command that keeps requests if cfg needs them.
func limitMemory(c *cli.Context, cfg *analyze.Config) (err error) {
	read := MemoryLimit
	if cfg.Windows != (analyze.Windows{}) || !cfg.Selection.IsZero() || cfg.Quality != nil {
		read = KeepToMemoryLimit
	}
	cfg.MemoryLimit, err = read(c)
	return err
}

// ComparisonConfig reads the flags of Config and the limit of memory, for a command that compares runs.
func ComparisonConfig(c *cli.Context) (analyze.Config, error) {
	cfg, err := Config(c)
	if err == nil {
		cfg.MemoryLimit, err = KeepToMemoryLimit(c)
	}
	return cfg, err
}

// MemoryLimit reads --memory-limit.
func MemoryLimit(c *cli.Context) (int64, error) {
	limit := c.Int64("memory-limit")
	if limit < analyze.LeastMemoryLimit {
		return 0, cmdline.Usagef("--memory-limit %d: give at least %d bytes", limit, int64(analyze.LeastMemoryLimit))
	}
	return limit, nil
}

// UseMemory calls f with a Memory for the values of other tools' definitions, of at most
// maxBytes, and warns if they did not fit although no file took them.
func UseMemory(c *cli.Context, maxBytes int64, f func(*dialect.Memory) error) error {
	memory := dialect.NewMemory(maxBytes)
	err := f(memory)
	if full := memory.Full(); full != nil {
		Warnf(c, "the analysis takes more memory than the limit: %v", full)
	}
	return errors.Join(err, memory.Close())
}
