package stated

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// A Result is what a file states.
type Result struct {
	File string
	// Definitions names the definitions of the figures: the tool, without its release. Figures of two results can be compared
	// if their Definitions are equal.
	Definitions string
	// Dialect is the dialect that computes figures of these definitions from requests, as --dialect takes it; "" for none.
	Dialect string
	Rates   Rates
	// Release is the release of the tool, Model what served, URL where, Began when the run began, as the file writes them;
	// "" if it does not say.
	Release, Model, URL, Began string
	Levels                     []Level
	// Computed says that the file holds requests, and that the figures are computed from them by the definitions.
	Computed bool
	Notes    []string // what else the reader of the report has to know
}

// Tool returns the tool with its release, if the file states it.
func (r *Result) Tool() string { return strings.TrimSpace(r.Definitions + " " + r.Release) }

// Rates name the figures of a tool that are the rate of a user and the rate of the server, for a frontier.
type Rates struct {
	// User is in tokens/s of a user, GPU in output tokens/s: a metric, with its statistic after a space if it has one. "" for tools
	// that state none.
	User, GPU string
	// PerGPU says that GPU is of one GPU; otherwise it is of all GPUs together.
	PerGPU bool
}

// A Level is a load level with its figures, in the order of the file.
type Level struct {
	// Mode and Value are the load, as in export.Experiment; "" if the file does not say it.
	Mode, Value string
	// Settings are the settings of the run that the file states, besides the load.
	Settings []Setting
	// Apart are the settings that tell the level from the other levels of its file with the same load: see [Result.TellApart].
	Apart   []Setting
	Figures []Figure
}

// A Setting is a setting of a run, such as max_num_seqs of a server.
type Setting struct{ Name, Value string }

// Name returns the load in words, and the settings that tell the level from others of its file; "" if nothing is known.
func (l *Level) Name() string {
	name := export.LoadName(l.Mode, l.Value)
	for _, s := range l.Apart {
		if name != "" {
			name += " · "
		}
		name += s.Name + " " + s.Value
	}
	return name
}

// setting returns the value of a setting; ok is false if the file does not state it.
func (l *Level) setting(name string) (value string, ok bool) {
	i := slices.IndexFunc(l.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return "", false
	}
	return l.Settings[i].Value, true
}

// TellApart chooses the settings that differ between levels of the same load, such as the points of a sweep over settings of the server.
func (r *Result) TellApart() {
	groups := map[[2]string][]*Level{}
	for i := range r.Levels {
		l := &r.Levels[i]
		l.Apart = nil
		groups[l.load()] = append(groups[l.load()], l)
	}
	for _, levels := range groups {
		differs := map[string]bool{} // by name
		first := levels[0].values()
		for _, l := range levels[1:] {
			other := l.values()
			for _, s := range l.Settings {
				if v, ok := first[s.Name]; !ok || v != s.Value {
					differs[s.Name] = true
				}
			}
			for name := range first {
				if _, ok := other[name]; !ok {
					differs[name] = true
				}
			}
		}
		for _, l := range levels {
			for _, s := range l.Settings {
				if differs[s.Name] {
					l.Apart = append(l.Apart, s)
				}
			}
		}
	}
}

// values returns the settings by name.
func (l *Level) values() map[string]string {
	all := make(map[string]string, len(l.Settings))
	for _, s := range l.Settings {
		all[s.Name] = s.Value
	}
	return all
}

// A Figure is a number that a file states.
type Figure struct {
	Metric    string // the tool's name: "ttft", "time_to_first_token"
	Statistic string // "mean", "p99", …; "" for a number that is no statistic of several values
	Unit      string // as the tool writes it; "" for none, or if the file does not say it
	// Text is the number with the digits of the file; Value is the nearest float. A value that the file leaves open ("null",
	// "NaN") has Text "n/a" and Value NaN.
	Text  string
	Value float64
}

// NewFigure returns a figure with the number of a file.
func NewFigure(metric, statistic, unit, text string, value float64) Figure {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		text, value = "n/a", math.NaN()
	}
	return Figure{metric, statistic, unit, text, value}
}

// A figureKey is equal for figures that state the same thing.
type figureKey struct{ metric, statistic, unit string }

// key returns the key of a figure.
func (f *Figure) key() figureKey {
	return figureKey{spelled(f.Metric), f.Statistic, f.Unit}
}

// index returns the figures of a level by their keys. The first of several counts.
func (l *Level) index() map[figureKey]*Figure {
	of := make(map[figureKey]*Figure, len(l.Figures))
	for i := range l.Figures {
		if f := &l.Figures[i]; of[f.key()] == nil {
			of[f.key()] = f
		}
	}
	return of
}

// Named returns the figure of a name: its metric, with the statistic after a space if it has one; nil if the level has none. Names match
// as in comparisons.
func (l *Level) Named(name string) *Figure {
	i := slices.IndexFunc(l.Figures, func(f Figure) bool { return spelled(f.Name()) == spelled(name) })
	if i < 0 {
		return nil
	}
	return &l.Figures[i]
}

// Name returns the metric and the statistic.
func (f *Figure) Name() string { return strings.TrimSpace(f.Metric + " " + f.Statistic) }

// spelled returns a name as it is compared: a tool's CSV and JSON spell one name in two ways, "Request Latency" and "request_latency".
func spelled(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "_") }

// An Error is the error of a file that holds figures and no requests. Commands that need requests print it; the others take
// its Result.
type Error struct {
	Result *Result
	// Err says what the file is, and which file has the requests.
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// NoChecks returns err; if it is the error of a file without requests, with the consequence for commands that check requests.
func NoChecks(err error) error {
	if s := new(Error); errors.As(err, &s) {
		return fmt.Errorf("figures only, so nothing can be checked: %w", err)
	}
	return err
}
