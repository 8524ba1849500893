package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

// Hints are what a file says its report is to be like: what the command line of
// another tool said to pa-record. Its flags go before them. The keys that are read
// here stand for the flags of the same name; the dialects know further ones.
const (
	hintDialect          = "dialect"
	hintExperiment       = "experiment"
	hintTokenizer        = "tokenizer"
	hintDefaultTokenizer = "default_tokenizer" // one that is done without
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

// openings are files that were opened to see how they are to be reported. They
// are read where they are used next, so that nothing is read twice.
type openings map[string]export.Reader

// most is how many files are kept open.
const mostOpen = 64

// use is the function use, of a file that may be open.
func (o openings) use(c *cli.Context, path string, f func(export.Reader) error) (err error) {
	r, ok := o[path]
	if !ok {
		return use(c, path, f)
	}
	delete(o, path)
	defer func() { err = errors.Join(err, r.Close()) }()
	return f(r)
}

// look opens a file and keeps it open.
func (o openings) look(c *cli.Context, path string) (export.Reader, error) {
	if r, ok := o[path]; ok {
		return r, nil
	}
	r, err := open(c, path)
	if err == nil {
		o[path] = r
	}
	return r, err
}

func (o openings) close() error {
	var errs []error
	for _, r := range o {
		errs = append(errs, r.Close())
	}
	clear(o)
	return errors.Join(errs...)
}

// hintedDialect returns the dialect that all files ask for; strict if they do not,
// or if flags ask for what only that has. What stands in the way is a warning.
func hintedDialect(c *cli.Context, ahead openings) string {
	paths := arguments(c)
	if c.IsSet("dialect") || len(paths) > mostOpen {
		return c.String("dialect")
	}
	names := map[string]bool{}
	for _, path := range paths {
		r, err := ahead.look(c, path)
		if err != nil {
			return strictDialect // which says it
		}
		names[hintsOf(r.Run())[hintDialect]] = true
	}
	if len(names) != 1 || names[""] {
		if len(names) > 1 {
			warnf(c, "the files were made to be reported in several ways (%s): they are reported by our own definitions; --dialect asks for another", quotedNames(names))
		}
		return strictDialect
	}
	name := slices.Collect(maps.Keys(names))[0]
	if name == strictDialect {
		return name
	}
	if _, err := findDialect(name); err != nil {
		warnf(c, "the file asks for a report as %s prints it, which pa-analyze does not know; it is reported by our own definitions", strconv.Quote(name))
		return strictDialect
	}
	if flag := ownFlag(c); flag != "" {
		warnf(c, "the file asks to be reported as %s does, but --%s is of our own definitions, which go before; --dialect %s reports so", name, flag, name)
		return strictDialect
	}
	return name
}

// ownFlag returns a flag that was given and that no dialect has; "" if there is
// none.
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

// quotedNames lists names for a message.
func quotedNames(names map[string]bool) string {
	var all []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if n == "" {
			n = "no hint"
		}
		all = append(all, sanitize.Text(n))
	}
	return strings.Join(all, ", ")
}

// sayings are what flags say, and where they are silent the hints of a file.
type sayings struct {
	c     *cli.Context
	hints map[string]string // nil: none
	// loaded are the tokenizers that were loaded before, by name; nil: they are
	// not kept.
	loaded map[string]*tokenizer.Tokenizer
	// reading is the reading of tokenizer files that the dialect's tool uses.
	reading tokenizer.Reading
}

// sayingsOf returns what is said about a run that is reported as dialect. Hints
// that are for another tool's report are not followed.
func sayingsOf(c *cli.Context, dialect string, run *export.Run, loaded map[string]*tokenizer.Tokenizer) sayings {
	s := sayings{c: c, hints: hintsOf(run), loaded: loaded}
	family := func(name string) string {
		tool, _, _ := strings.Cut(strings.TrimPrefix(name, "genai-"), "-")
		return tool
	}
	if family(s.hints[hintDialect]) != family(dialect) {
		s.hints = nil
	}
	return s
}

// text returns the value of a flag.
func (s sayings) text(flag, hint string) string {
	if v, ok := s.hints[hint]; ok && !s.c.IsSet(flag) {
		return v
	}
	return s.c.String(flag)
}

// streaming returns whether answers were streamed; nil if that is not said.
func (s sayings) streaming() (*bool, error) {
	var streaming bool
	v, hinted := s.hints[hintStreaming]
	switch {
	case s.c.IsSet("streaming"):
		streaming = s.c.Bool("streaming")
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

// levels returns the load levels that are reported.
func (s sayings) levels() []string {
	if v, ok := s.hints[hintExperiment]; ok && !s.c.IsSet("experiment") {
		return []string{v}
	}
	return s.c.StringSlice("experiment")
}

// tokenizer loads the tokenizer that --tokenizer names, or that the file's hint names
// if the local cache has it, and returns it with that name; nil without either. A
// hint never opens a path and is never fetched from the hub, because the file may
// come from anywhere. The built-in tokenizer replaces a tool's default tokenizer.
func (s sayings) tokenizer() (_ *tokenizer.Tokenizer, name string, _ error) {
	if name = s.c.String("tokenizer"); name != "" {
		tok, err := s.load(name, name, openTokenizer)
		return tok, name, err
	}
	named, byDefault := s.hints[hintTokenizer], s.hints[hintDefaultTokenizer]
	switch {
	case named != "":
		tok, err := s.load("hint "+named, named, openCached)
		if err != nil {
			warnf(s.c, "the file asks for %v, so token counts are n/a; --tokenizer %s fetches it from the hub, or opens it if it is a path", err, strconv.Quote(named))
			return nil, "", nil
		}
		return tok, named, nil
	case byDefault != "":
		key := "hint " + byDefault
		tok, err := s.load(key, byDefault, openCached)
		if err != nil {
			warnf(s.c, "the file asks for %v; tokens are counted with the built-in one; add --tokenizer %s to fetch it from the hub", err, strconv.Quote(byDefault))
			tok, err = s.load(key, builtin.Name, openTokenizer)
		}
		return tok, byDefault, err
	}
	return nil, "", nil
}

// load loads a tokenizer with open, once for each key.
func (s sayings) load(key, name string, open func(*cli.Context, string, tokenizer.Reading) (*tokenizer.Tokenizer, error)) (*tokenizer.Tokenizer, error) {
	if tok, ok := s.loaded[key]; ok {
		return tok, nil
	}
	tok, err := open(s.c, name, s.reading)
	if err == nil && s.loaded != nil {
		s.loaded[key] = tok
	}
	return tok, err
}
