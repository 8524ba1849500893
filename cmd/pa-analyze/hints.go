package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A file's hints are settings for its report; pa-record takes them from another tool's
// command line. Flags override them. These keys have the meaning of the flags of the same
// name; the dialects read further keys.
const (
	hintDialect          = "dialect"
	hintExperiment       = "experiment"
	hintTokenizer        = "tokenizer"
	hintDefaultTokenizer = "default_tokenizer" // the tool's default
	hintStreaming        = "streaming"
	hintBackend          = "backend"
	hintEndpointType     = "endpoint_type"
	hintGoodput          = "goodput"
)

// hintsOf returns the hints of a run; nil if it has none.
func hintsOf(run *export.Run) map[string]string {
	if run.Meta == nil {
		return nil
	}
	return run.Meta.AnalysisHints
}

// hintedDialect returns the name of the dialect that the hints of all files ask for. It returns
// the strict one if they do not agree, or if a flag is set that only the strict one has; a warning
// says so.
func (c *call) hintedDialect(files fileNames) string {
	if len(files.paths) > mostOpen {
		return dialect.Strict
	}
	names := map[string]bool{}
	for _, path := range files.paths {
		r, err := c.keepOpen(path)
		if err != nil {
			return dialect.Strict // its report meets the same error
		}
		names[hintsOf(export.Preview(r))[hintDialect]] = true
	}
	if len(names) != 1 || names[""] {
		if len(names) > 1 {
			c.warnf("the files ask for different reports (%s), so all are reported by pa-analyze's own definitions; --dialect chooses one", hintNames(names))
		}
		return dialect.Strict
	}
	name := slices.Collect(maps.Keys(names))[0]
	if name == dialect.Strict {
		return name
	}
	if _, err := findTool(name); err != nil {
		c.warnf("the file asks for a report as %s prints it, which pa-analyze does not know; the report uses pa-analyze's own definitions", strconv.Quote(name))
		return dialect.Strict
	}
	own := c.ownFlag()
	if own == "" && c.String("format") == "markdown" {
		own = "format markdown"
	}
	if own != "" {
		c.warnf("the file asks for the report of %s, but --%s belongs to pa-analyze's own report, which is printed; --dialect %s prints the tool's", name, own, name)
		return dialect.Strict
	}
	return name
}

// hintNames lists the dialects that the hints of several files ask for, for a message.
func hintNames(names map[string]bool) string {
	var all []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		all = append(all, cmp.Or(n, "no hint"))
	}
	return strings.Join(all, ", ")
}

// toolOptions are the options of another tool's report: flags, and the hints of a file for flags
// that were not given.
type toolOptions struct {
	*call
	flags dialect.Config    // what the flags say that no hint overrides
	tool  *dialect.Tool     // nil for several tools
	hints map[string]string // nil: none
	// loaded keeps the tokenizers by name; nil: they are not kept.
	loaded map[string]*tokenizer.Tokenizer
}

// optionsOf returns the options for a run that is reported as t. Hints for the report of
// another tool are ignored.
func (c *call) optionsOf(flags dialect.Config, t *dialect.Tool, run *export.Run, loaded map[string]*tokenizer.Tokenizer) toolOptions {
	o := toolOptions{call: c, flags: flags, tool: t, hints: hintsOf(run), loaded: loaded}
	if registry().Family(o.hints[hintDialect]) != t.Family {
		o.hints = nil
	}
	return o
}

// config returns the configuration of the report.
func (o toolOptions) config() (cfg dialect.Config, err error) {
	if err := o.check(); err != nil {
		return cfg, err
	}
	cfg = o.flags
	cfg.Backend, cfg.EndpointType = o.text("backend", hintBackend), o.text("endpoint-type", hintEndpointType)
	if t, types := cfg.EndpointType, dialect.EndpointTypes(); t != "" && !slices.Contains(types, t) {
		return cfg, fmt.Errorf("the file's hint %s=%q is not known; give --endpoint-type, one of %s", hintEndpointType, t, strings.Join(types, ", "))
	}
	if v, ok := o.hints[hintStreaming]; ok && cfg.Streaming == nil {
		streaming, err := strconv.ParseBool(v)
		if err != nil {
			return cfg, fmt.Errorf("the file's hint %s=%s: expected true or false; give --streaming", hintStreaming, sanitize.Text(v))
		}
		cfg.Streaming = &streaming
	}
	if levels := o.levels(); len(levels) > 0 {
		cfg.Level = dialect.ParseLevel(levels[0])
	}
	if cfg.Goodput, err = dialect.ParseLimits(o.text("goodput", hintGoodput)); err != nil {
		return cfg, fmt.Errorf("the file's hint %s=%q is not understood; --dialect %s reports without it", hintGoodput, o.hints[hintGoodput], dialect.Strict)
	}
	tok, called, err := o.tokenizer()
	if tok != nil {
		cfg.Tokenizer, cfg.TokenizerName = tok, called
		if o.String("tokenizer") != "" { // only --tokenizer may name a path; a hint may not
			cfg.TokenizerName = dialect.TokenizerName(called)
		}
	}
	return cfg, err
}

// check refuses flags that the tool does not have, and more than one load level.
func (o toolOptions) check() error {
	if t := o.tool; t != nil {
		for _, name := range registry().Options() {
			if o.IsSet(name) && !slices.Contains(t.Options, name) {
				return cmdline.Usagef("--%s is for reports of %s, not of %s", name, cmp.Or(registry().OptionOf(name), "other tools"), t.Name)
			}
		}
		if t.NoArgs && o.flags.Args != nil {
			return cmdline.Usagef("--arg: %s takes no KEY=VALUE arguments; use flags", t.Name)
		}
	}
	return refuse(len(o.levels()) > 1, "--dialect reports one load level; give --experiment once")
}

// text returns the value of a flag.
func (o toolOptions) text(flag, hint string) string {
	if v, ok := o.hints[hint]; ok && !o.IsSet(flag) {
		return v
	}
	return o.String(flag)
}

// levels returns the names of the load levels to report; none for all.
func (o toolOptions) levels() []string {
	if v, ok := o.hints[hintExperiment]; ok && !o.IsSet("experiment") {
		return []string{v}
	}
	return o.StringSlice("experiment")
}

// tokenizer loads the tokenizer that --tokenizer names, or that the file's hint names
// if the local cache has it, and returns it with that name; nil without either. A
// hint never opens a path and is never fetched from the hub, because the file may
// come from anywhere. The built-in tokenizer replaces a tool's default tokenizer.
func (o toolOptions) tokenizer() (_ *tokenizer.Tokenizer, name string, _ error) {
	if name = o.String("tokenizer"); name != "" {
		tok, err := o.load(name, name, o.openTokenizer)
		return tok, name, err
	}
	named, byDefault := o.hints[hintTokenizer], o.hints[hintDefaultTokenizer]
	switch {
	case named != "":
		tok, err := o.load("hint "+named, named, o.openCached)
		if err != nil {
			o.warnf("the file asks for %v, so token counts are n/a; %s", err, giveTokenizer(named))
			return nil, "", nil
		}
		return tok, named, nil
	case byDefault != "":
		key := "hint " + byDefault
		tok, err := o.load(key, byDefault, o.openCached)
		if err != nil {
			o.warnf("the file asks for %v; token counts are from the built-in tokenizer; %s", err, giveTokenizer(byDefault))
			tok, err = o.load(key, builtin.Name, func(string, tokenizer.Reading) (*tokenizer.Tokenizer, error) { return builtin.Load() })
		}
		return tok, byDefault, err
	}
	return nil, "", nil
}

// giveTokenizer returns how to count with the tokenizer that a file's hint names, which is not in
// the local cache. It looks for names below the working directory only, because the file may come
// from anywhere.
func giveTokenizer(name string) string {
	flag := sanitize.Command("--tokenizer", sanitize.PathArgument(name))
	if !hub.IsModel(name) {
		return "give " + flag + " to read it: pa-analyze opens no path that a file names"
	}
	if _, err := os.Stat(name); err == nil {
		return "give " + flag + " to read it from this folder: pa-analyze opens no path that a file names"
	}
	return "give " + flag + " to fetch it from the hub"
}

// load loads a tokenizer with open, as the tool reads its files, once for each key.
func (o toolOptions) load(key, name string, open func(string, tokenizer.Reading) (*tokenizer.Tokenizer, error)) (*tokenizer.Tokenizer, error) {
	if tok, ok := o.loaded[key]; ok {
		return tok, nil
	}
	reading := tokenizer.Transformers4
	if o.tool != nil && o.tool.Transformers == 5 {
		reading = tokenizer.Transformers5
	}
	tok, err := open(name, reading)
	if err == nil && o.loaded != nil {
		o.loaded[key] = tok
	}
	return tok, err
}

// toolError turns a mistake in the arguments of a dialect into a usage error. It names
// the file in all other errors.
func toolError(path string, err error) error {
	if argument := new(dialect.ArgError); errors.As(err, &argument) && !argument.Hint {
		return cmdline.Usagef("%v", argument)
	}
	if err = named(path, err); errors.Is(err, dialect.ErrNoTokenizer) {
		return cmdline.Usagef("%v; give it with --tokenizer", err)
	}
	return err
}
