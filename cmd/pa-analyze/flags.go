package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/diff"
	"github.com/pa-tools/pa/pkg/analyze/expr"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Categories of flags, which the help shows under these names.
const (
	catCounting  = "Counting"
	catSelection = "Selection"
	catObjective = "Objective"
	catMetrics   = "Metrics"
	catQuality   = "Quality"
	catEconomics = "Economics"
	catTools     = "Dialect"
	catInput     = "Input"
	catOutput    = "Output"
	catGates     = "Gates"
)

// An analysis is how runs are measured, as the flags of a command say. Each group of flags has a
// method that declares it; the flags write what they are given into the fields.
type analysis struct {
	analyze.Config
	groups    report.Groups // of --metrics
	quality   quality.Config
	economics figure.EconomicsConfig
	sessions  figure.SessionsConfig
	// compares says that the command compares runs, and keeps something of each request.
	compares bool
}

// newAnalysis returns an analysis without flags.
func newAnalysis() *analysis { return &analysis{quality: quality.Default()} }

// refuse returns a usage error if a value is wrong.
func refuse(wrong bool, format string, args ...any) error {
	if wrong {
		return cmdline.Usagef(format, args...)
	}
	return nil
}

// atLeast returns the check of a flag for a number. format is the error about a smaller one.
func atLeast[T cmp.Ordered](least T, format string) func(*cli.Context, T) error {
	return func(_ *cli.Context, v T) error {
		ok := v >= least // false for NaN
		return refuse(!ok, format, v)
	}
}

// within returns the check of a flag for a number. format is the error about one outside.
func within[T cmp.Ordered](least, most T, format string) func(*cli.Context, T) error {
	return func(_ *cli.Context, v T) error {
		ok := v >= least && v <= most // false for NaN
		return refuse(!ok, format, v)
	}
}

// aboveZero is the least number above 0.
const aboveZero = math.SmallestNonzeroFloat64

// parsed returns f with a check: parse reads its value into to before the command begins. The
// error of parse continues the name of the flag, unless it is a usage error.
func parsed[T any](to *T, parse func(string) (T, error), f *cli.StringFlag) cli.Flag {
	if v, err := parse(f.Value); err == nil {
		*to = v
	}
	f.Action = func(_ *cli.Context, text string) (err error) {
		if *to, err = parse(text); err == nil || errors.As(err, new(*cmdline.UsageError)) {
			return err
		}
		return cmdline.Usagef("--%s %v", f.Name, err)
	}
	return f
}

// choice returns f with a check that its value is one of names.
func choice(f *cli.StringFlag, names ...string) cli.Flag {
	f.Action = func(_ *cli.Context, text string) error {
		return refuse(!slices.Contains(names, text), "--%s %q: give one of %s", f.Name, text, strings.Join(names, ", "))
	}
	return f
}

// given returns the first of the flags that the command line has; "" for none.
func (c *call) given(names ...string) string {
	if i := slices.IndexFunc(names, c.IsSet); i >= 0 {
		return names[i]
	}
	return ""
}

// has reports whether the command has a flag.
func (c *call) has(name string) bool {
	return slices.ContainsFunc(c.App.Flags, func(f cli.Flag) bool { return f.Names()[0] == name })
}

// givenIn returns a flag of one of the categories that the command line has; "" for none.
func (c *call) givenIn(categories ...string) string {
	for _, f := range c.App.Flags {
		if slices.Contains(categories, categoryOf(f)) && c.IsSet(f.Names()[0]) {
			return f.Names()[0]
		}
	}
	return ""
}

// categoryOf returns the category of a flag.
func categoryOf(f cli.Flag) string {
	if x, ok := f.(cli.CategorizableFlag); ok {
		return x.GetCategory()
	}
	return ""
}

// check refuses flags that need another one, and parts of a level that exclude each other.
func (a *analysis) check(c *call) error {
	if err := a.Selection.Validate(); err != nil {
		return cmdline.Usagef("%v", err)
	}
	if f := c.givenIn(catQuality); f != "" && !a.groups.Quality {
		return cmdline.Usagef("--%s needs --metrics quality", f)
	}
	if f := c.given("idle-power", "gpu-hour-price", "energy-price"); f != "" && !a.groups.Economics {
		return cmdline.Usagef("--%s needs --metrics economics", f)
	}
	if c.has("metrics") && c.IsSet("gpus") && !a.groups.Economics && !a.groups.Sessions {
		return cmdline.Usagef("--gpus needs --metrics economics or sessions")
	}
	if f := c.given("cache-tokens", "cache-block", "cache-prompts-only"); f != "" && !a.groups.Sessions {
		return cmdline.Usagef("--%s needs --metrics sessions", f)
	}
	if f := c.given("slo-target", "slo-gate"); f != "" && a.SLO == nil {
		return cmdline.Usagef("--%s needs --slo: what should requests meet?", f)
	}
	return nil
}

// config returns the configuration of the analysis, after it has loaded the tokenizer.
func (a *analysis) config(c *call) (analyze.Config, error) {
	cfg := a.Config
	if cfg.SLO == nil {
		cfg.SLOTarget = 0
	}
	if a.groups.Quality {
		cfg.Quality = &a.quality
	}
	if a.groups.Economics {
		cfg.Economics = &a.economics
	}
	cfg.Prefix, cfg.Phases, cfg.Images, cfg.Audio, cfg.Realtime = a.groups.Prefix, a.groups.Phases, a.groups.Images, a.groups.Audio, a.groups.Realtime
	if a.groups.Sessions {
		cfg.Sessions, a.sessions.GPUs = &a.sessions, a.economics.GPUs
	}
	if a.compares || cfg.MemoryLimit > 0 && (cfg.Windows != (analyze.Windows{}) || !cfg.Selection.IsZero() || cfg.Quality != nil) {
		keepToMemory(cfg.MemoryLimit)
	}
	tokens, err := c.tokens(cfg.TokenSource)
	if encoder, ok := tokens.Counter.(*answer.LimitedCounter); ok && cfg.Sessions != nil {
		a.sessions.Encode = encoder.AppendTokens
	}
	if tokens.Counter != nil {
		cfg.Counter, cfg.Tokenizer = tokens.Counter, &analyze.Tokenizer{Name: c.tokenizerName(), SHA256: tokens.Tokenizer}
	}
	return cfg, err
}

// measureFlags choose how requests are measured.
func (a *analysis) measureFlags() []cli.Flag {
	return []cli.Flag{
		parsed(&a.From, answer.ParseFrom, &cli.StringFlag{Name: "from", Usage: "count latencies from `WHEN`: start (first byte left), sent (last byte), issued (before connecting) or scheduled", Value: "start", Category: catCounting}),
		tokenSourceFlag(&a.TokenSource),
		&cli.BoolFlag{Name: "include-warmup", Usage: "count warm-up requests too", Category: catCounting, Destination: &a.IncludeWarmup},
	}
}

// measureOwnFlags are the measureFlags of commands without reports of other tools.
func (a *analysis) measureOwnFlags() []cli.Flag {
	return append(a.measureFlags(), streamingFlag(&a.Streaming), tokenizerFlag())
}

// comparedFlags are the common flags of commands that read several runs. They follow the own flags of a command.
func (a *analysis) comparedFlags() []cli.Flag {
	a.compares = true
	return slices.Concat(a.measureOwnFlags(), a.selectionFlags(), inputFlags(), []cli.Flag{memoryFlag(&a.MemoryLimit)})
}

// drawnFlags are comparedFlags with objectives, and shards may be runs of their own.
func (a *analysis) drawnFlags() []cli.Flag {
	return slices.Concat(a.measureOwnFlags(), a.selectionFlags(), a.objectiveFlags(), inputFlags(), []cli.Flag{perFileFlag(), memoryFlag(&a.MemoryLimit)})
}

// streamingFlag is --streaming, for our own definitions and for other tools'. Each of to stays nil
// without it.
func streamingFlag(to ...**bool) cli.Flag {
	return &cli.BoolFlag{
		Name: "streaming", Usage: "treat answers as streamed; --streaming=false: as not streamed, without TTFT, TTST, ITL and TPOT (default: as the file says)", Category: catCounting,
		Action: func(_ *cli.Context, streaming bool) error {
			for _, x := range to {
				*x = &streaming
			}
			return nil
		},
	}
}

// experimentFlag chooses load levels.
func experimentFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "experiment", Usage: "only this load `LEVEL`: 8, concurrency:8, request_rate:2.5 (repeatable)", Category: catCounting}
}

// selectionFlags choose which part of each load level is analyzed.
func (a *analysis) selectionFlags() []cli.Flag {
	s := &a.Selection
	return []cli.Flag{
		parsed(&s.Window, analyze.ParseInterval, &cli.StringFlag{Name: "window", Usage: "only requests that started `FROM:TO` after the start of their level: 30s:90s, 30s: or :90s", Category: catSelection}),
		parsed(&s.TrimStart, analyze.ParseTrim, &cli.StringFlag{Name: "trim-start", Usage: "leave out the first `PART` of each level: 10s or 5%", Category: catSelection}),
		parsed(&s.TrimEnd, analyze.ParseTrim, &cli.StringFlag{Name: "trim-end", Usage: "leave out the last `PART` of each level: 10s or 5%", Category: catSelection}),
		&cli.BoolFlag{Name: "without-pauses", Usage: "leave out the requests that overlap a pause of pa-record (Ctrl-Z, a suspended machine), and the time of the pause", Category: catSelection, Destination: &s.WithoutPauses},
		&cli.BoolFlag{Name: "steady-state", Usage: "only the time between the first and the last moment with 95% of the concurrency in flight", Category: catSelection, Destination: &s.SteadyState},
	}
}

// windowsFlag is --windows with this usage.
func windowsFlag(to *analyze.Windows, usage string) cli.Flag {
	return parsed(to, parseWindows, &cli.StringFlag{Name: "windows", Usage: usage, Category: catSelection})
}

func parseWindows(text string) (analyze.Windows, error) {
	if text == "recorded" {
		return analyze.Windows{Recorded: true}, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return analyze.Windows{}, fmt.Errorf("%q: give a duration such as 10s, or recorded", text)
	}
	return analyze.Windows{Every: d}, nil
}

// objectiveFlags are for service-level objectives.
func (a *analysis) objectiveFlags() []cli.Flag {
	readSLO := func(_ *cli.Context, text string) (err error) {
		if a.SLO, err = expr.ParseObjective(text); err != nil {
			return cmdline.Usagef("--slo: %v", err)
		}
		return nil
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "slo", Usage: "how many requests meet `EXPR`, such as 'ttft<=200ms && itl_p99<=50ms'", Category: catObjective, Action: readSLO},
		parsed(&a.SLOTarget, parseShare, &cli.StringFlag{Name: "slo-target", Usage: "the `SHARE` of requests that should meet it", Value: "99%", Category: catObjective}),
	}
}

// objectiveGateFlag makes an objective decide about the exit code.
func (a *analysis) objectiveGateFlag() cli.Flag {
	return &cli.BoolFlag{Name: "slo-gate", Usage: "exit with code 3 when a level misses the target, or when the data cannot tell", Category: catObjective, Destination: &a.Verify}
}

// parseShare parses a share such as "99%" or "0.99". It must be above 0 and at most 1.
func parseShare(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if isPercent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return 0, fmt.Errorf("%q: give a share above 0 and at most 100%%, such as 99%% or 0.99", text)
	}
	return v, nil
}

// metricGroups are the values of --metrics, with what they show.
var metricGroups = []struct {
	name, words string
	of          func(*report.Groups) *bool
}{
	{"quality", "fluidity, token deadlines, stalls, interactivity", func(g *report.Groups) *bool { return &g.Quality }},
	{"economics", "energy and price per token", func(g *report.Groups) *bool { return &g.Economics }},
	{"prefix", "prefix cache, and TTFT by uncached tokens", func(g *report.Groups) *bool { return &g.Prefix }},
	{"phases", "parts of the TTFT: send, queue, prefill, network and rest; speculation; cache by level", func(g *report.Groups) *bool { return &g.Phases }},
	{"audio", "audio seconds per second, real-time factor, first audio, underruns", func(g *report.Groups) *bool { return &g.Audio }},
	{"sessions", "conversations and agents as jobs, and the possible hits of a prefix cache", func(g *report.Groups) *bool { return &g.Sessions }},
	{"images", "images per second and per request, time to the first", func(g *report.Groups) *bool { return &g.Images }},
	{"realtime", "delay of the text of a realtime transcription", func(g *report.Groups) *bool { return &g.Realtime }},
}

// metricsFlag is --metrics.
func (a *analysis) metricsFlag() cli.Flag {
	var names, known []string
	for _, m := range metricGroups {
		names, known = append(names, m.name), append(known, m.name+" ("+m.words+")")
	}
	parse := func(text string) (groups report.Groups, err error) {
		for name := range strings.SplitSeq(text, ",") {
			i := slices.Index(names, strings.TrimSpace(name))
			if i < 0 && text != "" {
				return groups, fmt.Errorf("%q: give one or several of %s", text, strings.Join(names, ", "))
			}
			if i >= 0 {
				*metricGroups[i].of(&groups) = true
			}
		}
		return groups, nil
	}
	return parsed(&a.groups, parse, &cli.StringFlag{Name: "metrics", Usage: "also show the metrics of `GROUP`: " + strings.Join(known, ", ") + "; several with commas", Category: catMetrics})
}

// qualityFlags set the parameters of the metrics of quality.
func (a *analysis) qualityFlags() []cli.Flag {
	q := &a.quality
	length := func(name string, to *int64, usage string) cli.Flag {
		return &cli.DurationFlag{Name: name, Usage: usage, Value: time.Duration(*to), Category: catQuality, Action: func(_ *cli.Context, d time.Duration) error {
			*to = int64(d)
			return refuse(d <= 0 || d > 24*time.Hour, "--%s %v: give a duration above 0 and at most 24h, such as 50ms", name, d)
		}}
	}
	share := func(name string, to *float64, usage string) cli.Flag {
		return &cli.Float64Flag{Name: name, Usage: usage, Value: *to, Category: catQuality, Destination: to, Action: within(aboveZero, 1, "--"+name+" %v: give a number above 0 and at most 1, such as 0.9")}
	}
	return []cli.Flag{
		length("due-first", &q.FirstTokenNS, "the first token is due after `TIME`"),
		length("due-next", &q.TokenNS, "each later token is due `TIME` after the previous token"),
		share("fluidity", &q.Target, "the fluid token rate counts requests with a fluidity index of at least `INDEX`"),
		share("fluid-share", &q.Share, "the fluid token rate is the rate that a `SHARE` of the requests keeps"),
		length("reader-pace", &q.PaceNS, "a reader takes `TIME` for each token"),
		length("stall", &q.StallNS, "a stall is a gap longer than `TIME`"),
		&cli.Float64Flag{Name: "stall-factor", Usage: "and longer than `N` times the median gap of its request", Value: q.StallFactor, Category: catQuality, Destination: &q.StallFactor, Action: within(0.0, 1e6, "--stall-factor %v: give a number from 0 to 1000000")},
	}
}

// mostGPUs is the largest number of GPUs that flags take.
const mostGPUs = 1_000_000

// economicsFlags set the parameters of the figures of economics.
func (a *analysis) economicsFlags() []cli.Flag {
	e := &a.economics
	amount := func(name string, to *float64, usage string) cli.Flag {
		return &cli.Float64Flag{Name: name, Usage: usage, Category: catEconomics, Destination: to, Action: within(aboveZero, math.MaxFloat64, "--"+name+" %v: give a number above 0, such as 0.15")}
	}
	return []cli.Flag{
		&cli.IntFlag{Name: "gpus", Usage: "the server had `N` GPUs (default: as many as the telemetry of the file has)", Category: catEconomics, Destination: &e.GPUs, Action: within(1, mostGPUs, "--gpus %d: give a number from 1 on, such as 8")},
		amount("idle-power", &e.IdleWatts, "subtract the energy that idle GPUs take, `WATTS` each"),
		amount("gpu-hour-price", &e.GPUHourPrice, "one GPU costs `DOLLARS` an hour"),
		amount("energy-price", &e.EnergyPrice, "a kWh costs `DOLLARS`"),
	}
}

// sessionFlags set the parameters of the figures of sessions.
func (a *analysis) sessionFlags() []cli.Flag {
	s := &a.sessions
	return []cli.Flag{
		&cli.Int64Flag{Name: "cache-tokens", Usage: "also compute the possible hits of a prefix cache of `N` tokens (default: only of one without limit)", Category: catMetrics, Destination: &s.CacheTokens, Action: atLeast(int64(1), "--cache-tokens %d: give a number of tokens from 1 on, such as 500000")},
		&cli.IntFlag{Name: "cache-block", Usage: "the prefix cache holds whole blocks of `N` tokens", Value: figure.DefaultCacheBlock, Category: catMetrics, Destination: &s.CacheBlock, Action: within(1, mostCacheBlock, "--cache-block %d: give a number of tokens from 1 to 65536, such as 16")},
		&cli.BoolFlag{Name: "cache-prompts-only", Usage: "only prompts fill the prefix cache, and answers do not", Category: catMetrics, Destination: &s.WithoutAnswers},
	}
}

// mostCacheBlock is the largest block that --cache-block takes.
const mostCacheBlock = 1 << 16

// memoryFlag is --memory-limit of the commands that read all requests of a run.
func memoryFlag(to *int64) cli.Flag {
	return &cli.Int64Flag{
		Name: "memory-limit", Usage: "take about `BYTES` of memory; values and requests that do not fit go to a file in $TMPDIR, and all figures stay exact",
		Value: analyze.DefaultMemoryLimit, Category: catInput, Destination: to,
		Action: atLeast(int64(analyze.LeastMemoryLimit), fmt.Sprintf("--memory-limit %%d: give at least %d bytes", int64(analyze.LeastMemoryLimit))),
	}
}

// heapShare is the share of --memory-limit that the Go heap gets; the rest is for the program itself.
const heapShare = 0.75

// keepToMemory is for commands that keep something of each request: their heap is collected more
// often when it comes near the limit. GOMEMLIMIT may set a lower one.
func keepToMemory(limit int64) {
	debug.SetMemoryLimit(min(int64(heapShare*float64(limit)), debug.SetMemoryLimit(-1)))
}

// inputFlags are the flags of every command that reads files.
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "beside", Usage: "also read the tool's summary and settings from the folder of the file (a folder as FILE implies it)", Category: catInput},
		&cli.Int64Flag{Name: "max-value", Usage: "refuse a single value of more than `BYTES`", Value: export.DefaultMaxValueBytes, Category: catInput, Action: atLeast(int64(1), "--max-value %d: give a number of bytes above 0")},
		&cli.Int64Flag{Name: "max-spool", Usage: "keep at most `BYTES` of standard input or of a decompressed file in $TMPDIR (default: half of its free space, at most 64 GiB)", Category: catInput, Action: atLeast(int64(0), "--max-spool %d: give a number of bytes above 0")},
		&cli.IntFlag{Name: "max-ratio", Usage: "refuse a compressed file that decompresses to more than `N` times its size; -1: no limit", Value: export.DefaultMaxRatio, Category: catInput},
	}
}

// perFileFlag is --per-file, which does not join shards.
func perFileFlag() cli.Flag {
	return &cli.BoolFlag{Name: "per-file", Usage: "report each shard of a run by itself, instead of all as one run", Category: catInput}
}

// formatFlag is --format, with the formats that the command has. The first is the default.
func formatFlag(formats ...string) cli.Flag {
	return choice(&cli.StringFlag{Name: "format", Aliases: []string{"f"}, Usage: "print as `FORMAT`: " + cmdline.OneOf(formats), Value: formats[0], Category: catOutput}, formats...)
}

// outputFlags are the flags of every command that can write its result to a file.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		cmdline.Writes(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE` instead of standard output (-)", Category: catOutput}),
		overwriteFlag(),
	}
}

// overwriteFlag allows to replace existing files.
func overwriteFlag() cli.Flag {
	return &cli.BoolFlag{Name: "overwrite", Usage: "replace the output file if it is there", Category: catOutput}
}

// widthFlag is the width of tables.
func widthFlag() cli.Flag {
	return &cli.IntFlag{Name: "width", Usage: "print for a console of `N` columns (default: the terminal's width, else $COLUMNS, else as wide as needed)", Category: catOutput, Action: atLeast(1, "--width %d: give a number of columns above 0")}
}

// namesFlag chooses whose names the format of --format that programs read has. otel says whether
// they are OpenTelemetry's.
func namesFlag(format string, otel *bool) cli.Flag {
	const own, conventions = "pa", "otel"
	read := func(c *cli.Context, name string) error {
		*otel = name == conventions
		if name != own && name != conventions {
			return cmdline.Usagef("--names %q: give %s or %s", name, own, conventions)
		}
		return refuse(c.String("format") != format, "--names is for --format %s, not for %s", format, c.String("format"))
	}
	return &cli.StringFlag{Name: "names", Usage: "with --format " + format + ": use the names of `WHOM`, pa or otel (OpenTelemetry's GenAI conventions; times in s)", Value: own, Category: catOutput, Action: read}
}

// ignoreFlag is --ignore of commands that take several runs as one setting, or of diff. does says
// what they do.
func ignoreFlag(does string) cli.Flag {
	known := append(diff.Refusals(), diff.All)
	return &cli.StringSliceFlag{
		Name: "ignore", Usage: does + " although `NAME` differs: " + strings.Join(diff.Refusals(), ", ") + " or all (repeatable)", Category: "Comparison",
		Action: func(_ *cli.Context, names []string) error {
			for _, name := range names {
				if !slices.Contains(known, name) {
					return cmdline.Usagef("--ignore %q: give one of %s", name, strings.Join(known, ", "))
				}
			}
			return nil
		},
	}
}

// ignoreOfSet is what ignoreFlag does for runs of one setting.
const ignoreOfSet = "analyze runs together"

// inconclusiveFlag chooses the exit code of a gate that cannot tell.
func inconclusiveFlag(to *int) cli.Flag {
	parse := func(value string) (int, error) {
		switch strings.ToLower(value) {
		case "4":
			return cmdline.ExitInconclusive, nil
		case "fail":
			return cmdline.ExitGate, nil
		case "pass":
			return cmdline.ExitOK, nil
		}
		return 0, fmt.Errorf("%q: give fail, pass or 4", value)
	}
	return parsed(to, parse, &cli.StringFlag{Name: "inconclusive", Value: "4", Usage: "exit code if the data cannot tell: `fail` (3), pass (0) or 4", Category: catGates})
}

// inconclusive reports err, which says what a gate cannot tell, with the exit code of
// --inconclusive. For exit code 0 it prints a warning and returns nil.
func (c *call) inconclusive(code int, err error) error {
	if err == nil {
		return nil
	}
	if code == cmdline.ExitOK {
		c.warnAll(strings.Split(err.Error(), "\n"))
		return nil
	}
	return &cmdline.CodeError{Code: code, Err: err}
}

// parsePercent reads "2%" as 0.02; the value is from 0 to 10.
func parsePercent(text string) (float64, error) {
	number, ok := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v >= 0 && v <= 1000) {
		return 0, fmt.Errorf("%q: give a percentage from 0%% to 1000%%, such as 2%%", text)
	}
	return v / 100, nil
}

// parseChange is parsePercent for a change, which is above 0.
func parseChange(text string) (float64, error) {
	v, err := parsePercent(text)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("%q: give a change above 0%% and at most 1000%%, such as 2%%", text)
	}
	return v, nil
}
