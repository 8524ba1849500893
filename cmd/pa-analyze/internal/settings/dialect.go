package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// DialectFlags are the flags for reports of another tool, and for the arguments of that
// tool's command line.
func DialectFlags() []cli.Flag {
	const category = "Dialect"
	return []cli.Flag{
		&cli.StringFlag{Name: "dialect", Usage: "report as `TOOL` does, to the character: " + Registry().Names(), Value: dialect.Strict, Category: category},
		&cli.StringFlag{Name: "service-kind", Usage: "`KIND` of server: openai, triton or tensorrtllm_engine (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint", Usage: "`PATH` of the requests (default: as in the file)", Category: category},
		&cli.StringFlag{Name: "endpoint-type", Usage: "`TYPE` of the endpoint: chat, completions, embeddings, … (default: by the file)", Category: category},
		&cli.StringFlag{Name: "backend", Usage: "`BACKEND` of Triton: vllm or tensorrtllm; of a serving benchmark its own --backend: openai-chat, …", Category: category},
		StreamingFlag(),
		&cli.StringFlag{Name: "goodput", Usage: "`LIMITS` of good requests as the tool spells them, in ms: 'time_to_first_token:200 inter_token_latency:16.5', 'ttft:200 tpot:16.5'", Category: category},
		&cli.IntFlag{Name: "batch-size", Aliases: []string{"b"}, Usage: "requests were batches of `N` (perf_analyzer; default: by the file, 1)", Category: category},
		&cli.IntFlag{Name: "percentile", Usage: "report the `N`th percentile of latency; -1: the mean (perf_analyzer; default: by the file, -1)", Category: category},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "show each measurement window (perf_analyzer)", Category: category},
		&cli.BoolFlag{Name: "verbose-csv", Usage: "more columns in the CSV report (perf_analyzer)", Category: category},
		&cli.StringSliceFlag{Name: "arg", Usage: "`KEY=VALUE` of the tool's command line: percentile_metrics=ttft,e2el, save_detailed=True, … (repeatable)", Category: category},
		&cli.BoolFlag{Name: "csv-file", Usage: "besides the table, write the tool's CSV file into the folder of the export", Category: category},
	}
}

// Registry returns all dialects. It makes the registry once, because the flags of several commands list them.
func Registry() *dialect.Registry { return registry() }

var registry = sync.OnceValue(tool.Dialects)

// FindTool returns the dialect called name. Its error suggests similar names.
func FindTool(name string) (*dialect.Tool, error) {
	all := Registry()
	if t := all.Find(name); t != nil && t.New != nil {
		return t, nil
	}
	names, listed := []string{dialect.Strict}, []string{dialect.Strict}
	for _, t := range all.Reports() {
		names, listed = append(names, t.Name), append(listed, t.Listed)
	}
	hint := all.Latest(name)
	if hint == "" && !strings.ContainsAny(name, "0123456789") { // a name with digits is an unknown release rather than a typing error
		hint = cmdline.Nearest(name, names)
	}
	if hint != "" {
		hint = fmt.Sprintf("did you mean %s? ", hint)
	}
	return nil, cmdline.Usagef("--dialect %q: %sgive one of %s", name, hint, strings.Join(listed, ", "))
}

// CheckStrict refuses the flags that need --dialect.
func CheckStrict(c *cli.Context) error {
	for _, name := range FlagNames(DialectFlags()) {
		if c.IsSet(name) && name != "dialect" && name != "streaming" {
			return cmdline.Usagef("--%s works only with the report of another tool; add --dialect TOOL", name)
		}
	}
	return nil
}

// CheckForeign refuses the flags of ownFlags, which do not apply to --dialect name.
func CheckForeign(c *cli.Context, name string) error {
	for _, flag := range ownFlags() {
		if c.IsSet(flag) {
			return cmdline.Usagef("--%s is not for --dialect %s, which reports as that tool does", flag, name)
		}
	}
	return nil
}

// ownFlags returns the names of the flags that work only without --dialect.
func ownFlags() []string {
	own := slices.Concat(MeasureFlags(), SelectionFlags(), ObjectiveFlags(), []cli.Flag{MetricsFlag()}, QualityParameterFlags(), EconomicsFlags())
	return append(FlagNames(own), "percentiles", "windows", "names")
}

// checkBelongs refuses flags of other tools that t does not have.
func checkBelongs(c *cli.Context, t *dialect.Tool) error {
	all := Registry()
	for _, name := range all.Options() {
		if !c.IsSet(name) || slices.Contains(t.Options, name) {
			continue
		}
		return cmdline.Usagef("--%s is for reports of %s, not of %s", name, cmp.Or(all.OptionOf(name), "other tools"), t.Name)
	}
	return nil
}

// SomeFlags returns the flags whose first name is in names, in the order of flags. It
// changes flags.
func SomeFlags(flags []cli.Flag, names ...string) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !slices.Contains(names, f.Names()[0]) })
}

// FlagNames returns the first name of each flag.
func FlagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()[0])
	}
	return names
}

// DialectConfig reads the flags of DialectFlags for tool t, and the file's hints for
// flags that were not given. t is nil if the settings are for several tools.
func DialectConfig(o Options, t *dialect.Tool) (cfg dialect.Config, err error) {
	c := o.c
	if t != nil {
		if err := checkBelongs(c, t); err != nil {
			return cfg, err
		}
	}
	cfg.ServiceKind, cfg.Endpoint, cfg.Backend = c.String("service-kind"), c.String("endpoint"), o.text("backend", hintBackend)
	cfg.BatchSize, cfg.Percentile, cfg.Verbose, cfg.VerboseCSV = c.Int("batch-size"), c.Int("percentile"), c.Bool("verbose"), c.Bool("verbose-csv")
	if c.IsSet("batch-size") && cfg.BatchSize < 1 {
		return cfg, cmdline.Usagef("-b %d: the batch size must be at least 1", cfg.BatchSize)
	}
	if n := cfg.Percentile; c.IsSet("percentile") && n != -1 && (n < 1 || n > 99) {
		return cfg, cmdline.Usagef("--percentile %d: must be 1 to 99, or -1 for the mean", n)
	}
	cfg.EndpointType = o.text("endpoint-type", hintEndpointType)
	if t, types := cfg.EndpointType, dialect.EndpointTypes(); t != "" && !slices.Contains(types, t) {
		if !c.IsSet("endpoint-type") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not known; give --endpoint-type, one of %s", hintEndpointType, t, strings.Join(types, ", "))
		}
		return cfg, cmdline.Usagef("--endpoint-type %q: give one of %s", t, strings.Join(types, ", "))
	}
	if cfg.Streaming, err = o.streaming(); err != nil {
		return cfg, err
	}
	switch levels := o.levels(); len(levels) {
	case 0:
	case 1:
		cfg.Level = dialect.ParseLevel(levels[0])
	default:
		return cfg, cmdline.Usagef("--dialect reports one load level; give --experiment once")
	}
	if cfg.Goodput, err = dialect.ParseLimits(o.text("goodput", hintGoodput)); err != nil {
		if !c.IsSet("goodput") {
			return cfg, fmt.Errorf("the file's hint %s=%q is not understood; --dialect %s reports without it", hintGoodput, o.hints[hintGoodput], dialect.Strict)
		}
		return cfg, cmdline.Usagef("--goodput %v", err)
	}
	if cfg.Args, err = dialect.ParseArgs(c.StringSlice("arg")); err != nil {
		return cfg, cmdline.Usagef("--arg %v", err)
	}
	if t != nil && t.NoArgs && cfg.Args != nil {
		return cfg, cmdline.Usagef("--arg: %s takes no KEY=VALUE arguments; use flags", t.Name)
	}
	if t != nil && t.Transformers == 5 {
		o.reading = tokenizer.Transformers5
	}
	tok, called, err := o.tokenizer()
	if tok != nil {
		cfg.Tokenizer, cfg.TokenizerName = tok, called
		if c.String("tokenizer") != "" { // only --tokenizer may name a path; a hint may not
			cfg.TokenizerName = dialect.TokenizerName(called)
		}
	}
	return cfg, err
}

// DialectError turns a mistake in the arguments of a dialect into a usage error. It names
// the file in all other errors.
func DialectError(path string, err error) error {
	if argument := new(dialect.ArgError); errors.As(err, &argument) && !argument.Hint {
		return cmdline.Usagef("%v", argument)
	}
	if err = Named(path, err); errors.Is(err, dialect.ErrNoTokenizer) {
		return cmdline.Usagef("%v; give it with --tokenizer", err)
	}
	return err
}
