package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/internal/shell"
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

// OpenFiles holds, by path, files that were opened for their headers. They stay open until
// they are read, so that no file is opened twice.
type OpenFiles map[string]export.Reader

// mostOpen is the largest number of files that are kept open, besides shards.
const mostOpen = 64

// refused is standard input that could not be opened: it can be read only once, so that its
// first error is the error of all who look at it.
type refused struct {
	export.Reader
	err error
}

// Close does nothing.
func (refused) Close() error { return nil }

// look opens a file and keeps it open.
func (o OpenFiles) look(c *cli.Context, path string) (export.Reader, error) {
	if r, ok := o[path]; ok {
		if x, is := r.(refused); is {
			return nil, x.err
		}
		return r, nil
	}
	r, err := openFile(c, path)
	switch {
	case err == nil:
		o[path] = r
	case path == "-":
		o[path] = refused{err: err}
	}
	return r, err
}

// Close closes the files that were not used.
func (o OpenFiles) Close() error {
	var errs []error
	for _, r := range o {
		errs = append(errs, r.Close())
	}
	clear(o)
	return errors.Join(errs...)
}

// SelectDialect returns the name of the dialect that --dialect or the hints of all files
// ask for. It returns the strict one if they do not agree, or if a flag is set that only
// the strict one has; a warning says so.
func SelectDialect(c *cli.Context, ahead OpenFiles) string {
	paths, err := expandAll(orDefault(c.Args().Slice()))
	if err != nil || c.IsSet("dialect") || len(paths) > mostOpen {
		return c.String("dialect")
	}
	names := map[string]bool{}
	for _, path := range paths {
		r, err := ahead.look(c, path)
		if err != nil {
			return dialect.Strict // its report meets the same error
		}
		names[hintsOf(export.Preview(r))[hintDialect]] = true
	}
	if len(names) != 1 || names[""] {
		if len(names) > 1 {
			Warnf(c, "the files were made to be reported in several ways (%s): they are reported by our own definitions; --dialect asks for another", hintNames(names))
		}
		return dialect.Strict
	}
	name := slices.Collect(maps.Keys(names))[0]
	if name == dialect.Strict {
		return name
	}
	if _, err := FindTool(name); err != nil {
		Warnf(c, "the file asks for a report as %s prints it, which pa-analyze does not know; it is reported by our own definitions", strconv.Quote(name))
		return dialect.Strict
	}
	if flag := ownFlag(c); flag != "" {
		Warnf(c, "the file asks to be reported as %s does, but --%s is of our own definitions, which go before; --dialect %s reports so", name, flag, name)
		return dialect.Strict
	}
	return name
}

// ownFlag returns a flag that was given and that no dialect has; "" for none.
func ownFlag(c *cli.Context) string {
	for _, name := range ownFlags() {
		if c.IsSet(name) {
			return name
		}
	}
	if c.String("format") == "markdown" {
		return "format markdown"
	}
	return ""
}

// hintNames lists the dialects that the hints of several files ask for, for a message.
func hintNames(names map[string]bool) string {
	var all []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if n == "" {
			n = "no hint"
		}
		all = append(all, n)
	}
	return strings.Join(all, ", ")
}

// Options reads flags, and the hints of a file for flags that were not given.
type Options struct {
	c     *cli.Context
	hints map[string]string // nil: none
	// loaded keeps the tokenizers by name; nil: they are not kept.
	loaded map[string]*tokenizer.Tokenizer
	// reading says how the dialect's tool reads tokenizer files.
	reading tokenizer.Reading
}

// OptionsOf returns the Options for a run that is reported as t. Hints for the report of
// another tool are ignored.
func OptionsOf(c *cli.Context, t *dialect.Tool, run *export.Run, loaded map[string]*tokenizer.Tokenizer) Options {
	o := Options{c: c, hints: hintsOf(run), loaded: loaded}
	if Registry().Family(o.hints[hintDialect]) != t.Family {
		o.hints = nil
	}
	return o
}

// text returns the value of a flag.
func (o Options) text(flag, hint string) string {
	if v, ok := o.hints[hint]; ok && !o.c.IsSet(flag) {
		return v
	}
	return o.c.String(flag)
}

// streaming reports whether answers were streamed; nil if neither flag nor hint says.
func (o Options) streaming() (*bool, error) {
	var streaming bool
	v, hinted := o.hints[hintStreaming]
	switch {
	case o.c.IsSet("streaming"):
		streaming = o.c.Bool("streaming")
	case hinted:
		var err error
		if streaming, err = strconv.ParseBool(v); err != nil {
			return nil, fmt.Errorf("the file's hint %s=%s: expected true or false; give --streaming", hintStreaming, sanitize.Text(v))
		}
	default:
		return nil, nil
	}
	return &streaming, nil
}

// levels returns the names of the load levels to report; none for all.
func (o Options) levels() []string {
	if v, ok := o.hints[hintExperiment]; ok && !o.c.IsSet("experiment") {
		return []string{v}
	}
	return o.c.StringSlice("experiment")
}

// tokenizer loads the tokenizer that --tokenizer names, or that the file's hint names
// if the local cache has it, and returns it with that name; nil without either. A
// hint never opens a path and is never fetched from the hub, because the file may
// come from anywhere. The built-in tokenizer replaces a tool's default tokenizer.
func (o Options) tokenizer() (_ *tokenizer.Tokenizer, name string, _ error) {
	if name = o.c.String("tokenizer"); name != "" {
		tok, err := o.load(name, name, OpenTokenizer)
		return tok, name, err
	}
	named, byDefault := o.hints[hintTokenizer], o.hints[hintDefaultTokenizer]
	switch {
	case named != "":
		tok, err := o.load("hint "+named, named, openCached)
		if err != nil {
			Warnf(o.c, "the file asks for %v, so token counts are n/a; %s", err, giveTokenizer(named))
			return nil, "", nil
		}
		return tok, named, nil
	case byDefault != "":
		key := "hint " + byDefault
		tok, err := o.load(key, byDefault, openCached)
		if err != nil {
			Warnf(o.c, "the file asks for %v; token counts are from the built-in tokenizer; %s", err, giveTokenizer(byDefault))
			tok, err = o.load(key, builtin.Name, func(*cli.Context, string, tokenizer.Reading) (*tokenizer.Tokenizer, error) { return builtin.Load() })
		}
		return tok, byDefault, err
	}
	return nil, "", nil
}

// giveTokenizer returns how to count with the tokenizer that a file's hint names, which is not in
// the local cache. It looks for names below the working directory only, because the file may come
// from anywhere.
func giveTokenizer(name string) string {
	flag := shell.Command("--tokenizer", shell.File(name))
	if !hub.IsModel(name) {
		return flag + " reads it: a file alone opens no path"
	}
	if _, err := os.Stat(name); err == nil {
		return flag + " reads it from this folder: a file alone opens no path"
	}
	return flag + " fetches it from the hub"
}

// load loads a tokenizer with open, once for each key.
func (o Options) load(key, name string, open func(*cli.Context, string, tokenizer.Reading) (*tokenizer.Tokenizer, error)) (*tokenizer.Tokenizer, error) {
	if tok, ok := o.loaded[key]; ok {
		return tok, nil
	}
	tok, err := open(o.c, name, o.reading)
	if err == nil && o.loaded != nil {
		o.loaded[key] = tok
	}
	return tok, err
}

// NewOptions returns the options of the command line alone, without the hints of a file.
// loaded keeps the tokenizers by name; nil: they are not kept.
func NewOptions(c *cli.Context, loaded map[string]*tokenizer.Tokenizer) Options {
	return Options{c: c, loaded: loaded}
}
