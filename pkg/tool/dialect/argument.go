package dialect

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// An ArgError reports a mistake in Config.Args, or in the hints that a file holds in
// their place.
type ArgError struct {
	Key string // "": the tool takes no arguments
	Msg string
	// Hint reports whether the argument came from the file's hints.
	Hint bool
}

func (e *ArgError) Error() string {
	switch {
	case e.Hint:
		return fmt.Sprintf("the file's hint %s: %s; give it again with --arg %s=…", e.Key, e.Msg, e.Key)
	case e.Key == "":
		return "--arg: " + e.Msg
	}
	return fmt.Sprintf("--arg %s: %s", e.Key, e.Msg)
}

// A Setter takes the value of an argument.
type Setter func(value string) error

// Assign returns a Setter that sets *to to the parsed value.
func Assign[T any](to *T, parse func(string) (T, error)) Setter {
	return func(value string) error {
		v, err := parse(value)
		if err == nil {
			*to = v
		}
		return err
	}
}

// ErrUnknownArg is the error of an argument that a tool does not know.
var ErrUnknownArg = errors.New("unknown")

// SetArgs calls set with each hint of the run for the dialect of that name, then with each of args; the later
// win. It ignores hints for which set returns ErrUnknownArg. A hint with an unreadable value is an error if
// the hints name the tool; otherwise it is left out with a warning. An error is an *ArgError.
func SetArgs(run *export.Run, name string, args map[string]string, set func(key, value string) error) (warnings []error, _ error) {
	hints, named := hints(run, name)
	for _, key := range slices.Sorted(maps.Keys(hints)) {
		if _, replaced := args[key]; replaced || key == "tool" {
			continue
		}
		err := set(key, hints[key])
		switch {
		case err == nil || errors.Is(err, ErrUnknownArg):
		case named:
			return nil, &ArgError{Key: key, Msg: err.Error(), Hint: true}
		default:
			warnings = append(warnings, fmt.Errorf("the file's hint %s is left out, because this tool does not take it: %w", key, err))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(args)) {
		if err := set(key, args[key]); err != nil {
			return nil, &ArgError{Key: key, Msg: err.Error()}
		}
	}
	return warnings, nil
}

// hints returns the run's analysis hints for the dialect of that name, of any release. It
// returns nil if the hints name another tool. named reports whether they name this tool.
// Hints that name no tool may use any tool's words, so a dialect skips hints that it
// cannot read, with a warning.
func hints(run *export.Run, name string) (hints map[string]string, named bool) {
	if run.Meta == nil {
		return nil, false
	}
	hints = run.Meta.AnalysisHints
	own, _, _ := strings.Cut(name, "-")
	asked, _, _ := strings.Cut(hints["dialect"], "-")
	switch asked {
	case "":
		return hints, false
	case own:
		return hints, true
	}
	return nil, false
}

// EndpointTypes returns the endpoint types that a Config may have: all that a release
// of GenAI-Perf knows by name.
func EndpointTypes() []string {
	return []string{
		"chat", "completions", "embeddings", "nvclip", "rankings", "vision", "multimodal", "image_retrieval",
		"generate", "huggingface_generate", "kserve", "template", "tensorrtllm_engine", "dynamic_grpc",
	}
}

// ParseLevel reads the name of a load level: "8", or "concurrency:8".
func ParseLevel(text string) Level {
	mode, value, ok := strings.Cut(text, ":")
	if !ok {
		return Level{Value: text}
	}
	return Level{mode, value}
}

// ParseLimits reads limits of good requests, separated by blanks: "ttft:200 tpot:16.5". The last limit of a metric counts.
func ParseLimits(text string) ([]Limit, error) {
	var all []Limit
	for _, l := range strings.Fields(text) {
		name, number, ok := strings.Cut(l, ":")
		value, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(value >= 0) {
			return nil, fmt.Errorf("%q: give pairs such as request_latency:300, of a metric and a number of 0 or more", l)
		}
		all = append(all, Limit{Metric: name, Value: value})
	}
	return LastLimits(all), nil
}

// LastLimits returns one limit of each metric: the last one, at the place of the first, as a Python dictionary does.
func LastLimits(all []Limit) []Limit {
	var kept []Limit
	at := map[string]int{}
	for _, l := range all {
		i, ok := at[l.Metric]
		if !ok {
			at[l.Metric], kept = len(kept), append(kept, l)
			continue
		}
		kept[i].Value = l.Value
	}
	return kept
}

// ParseArgs reads arguments such as "KEY=VALUE"; nil for none.
func ParseArgs(texts []string) (map[string]string, error) {
	var args map[string]string
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q: give KEY=VALUE", text)
		}
		if args == nil {
			args = map[string]string{}
		}
		args[key] = value
	}
	return args, nil
}

// TokenizerName returns the name that reports show for a tokenizer: the folder of a
// local file, else the name itself.
func TokenizerName(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path
	}
	if !info.IsDir() && filepath.Base(path) == "tokenizer.json" {
		path = filepath.Dir(path)
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}
