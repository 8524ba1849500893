package publish

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/analyze/stated"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Run holds the figures of a run.
type Run struct {
	File string // as the user gave it
	Name string // the label of the run, or its file without folder and ending
	// Definitions names the definitions of the figures: "pa" for ours, else the tool that states them.
	Definitions string
	Tool        string // the tool that measured, with its release
	Model, URL  string // "" if the file does not say
	// Attributes are OpenTelemetry's attributes of all figures.
	Attributes map[string]string
	Levels     []Level
	// Missing counts the figures without a value, which are left out.
	Missing int
}

// A Level is a load level.
type Level struct {
	Name        string // unique in its run: "concurrency 8"
	Mode, Value string // "" if the file does not say
	// Start and End are the time of the figures; zero if the file does not say.
	Start, End time.Time
	Figures    []Figure
	Histograms []Histogram
}

// A Figure is a number.
type Figure struct {
	Name string // lower case letters, digits and underscores, with the unit at the end
	// Of says more about the figure: a condition of an SLO, a GPU, the name in the file of another tool; "" for nothing.
	Of        string
	Statistic string // "mean", "p99"; "" for a number that is no statistic of several values
	Unit      string // "seconds", "tokens"; "" for none
	Text      string // the number as JSON has it
	Model     string // the model of the figure
	Help      string // the definition in one line; "" if there is none
}

// A Histogram counts the values of a metric that are at most some bounds.
type Histogram struct {
	Name, Unit, Help string
	OTel             answer.OTel // the names in OpenTelemetry's conventions
	Bounds           []string    // numbers in ascending order
	AtMost           []int       // for each bound
	N                int         // all values
	Mean             float64     // in the unit
}

// The bounds of histograms. Bounds of E2EL and of tokens are the ones of OpenTelemetry's conventions, and so are the bounds of TTFT and ITL,
// which begin low enough for both.
var (
	firstBounds = []int64{1e6, 5e6, 10e6, 20e6, 40e6, 60e6, 80e6, 100e6, 250e6, 500e6, 750e6, 1e9, 2.5e9, 5e9, 7.5e9, 10e9}
	wholeBounds = []int64{10e6, 20e6, 40e6, 80e6, 160e6, 320e6, 640e6, 1.28e9, 2.56e9, 5.12e9, 10.24e9, 20.48e9, 40.96e9, 81.92e9}
	tokenBounds = []int64{1, 1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26}
)

// Bounds is an [analyze.Config.Bounds]: with it, runs have histograms.
func Bounds(m answer.Metric) []int64 {
	switch m {
	case answer.TTFT, answer.ITL:
		return firstBounds
	case answer.E2EL:
		return wholeBounds
	case answer.OutputTokens, answer.InputTokens:
		return tokenBounds
	}
	return nil
}

// Report returns the figures of a report by our definitions.
func Report(in report.Input) *Run {
	rep := in.Report
	r := &Run{
		File: in.Name, Name: nameOf(in.Name), Definitions: "pa", Tool: report.Tool(rep), Model: rep.Model, Attributes: report.OTelAttributes(rep),
		Missing: len(rep.Unavailable),
	}
	if m := rep.Run.Meta; m != nil {
		r.URL = m.URL
		if m.Repeat != nil {
			r.Name = cmp.Or(m.Repeat.Label, r.Name)
		}
	}
	labels := map[string]string{}
	for _, e := range explain.All() {
		labels[e.Key] = e.Label + ": " + e.Formula
	}
	names := distinct{}
	for i := range rep.Experiments {
		e := &rep.Experiments[i]
		l := Level{Name: names.name(report.LevelName(e), secondLevel), Mode: e.Mode, Value: e.Value, Start: instant(e.Span.FromNS), End: instant(e.Span.ToNS)}
		r.Missing += len(e.Unavailable)
		for _, f := range report.Figures(e) {
			if f.Text == "" {
				r.Missing++
				continue
			}
			key, of := f.Name, ""
			if at := strings.IndexByte(key, '['); at > 0 {
				key, of = key[:at], strings.TrimSuffix(key[at+1:], "]")
			}
			x := Figure{Of: of, Statistic: f.Statistic, Text: f.Text, Model: cmp.Or(f.Model, rep.Model), Help: cmp.Or(labels[key[strings.LastIndexByte(key, '.')+1:]], key+" of pa-analyze report")}
			x.Name, x.Unit = ours(key, f.Unit)
			if f.Statistic == "n" {
				x.Name, x.Unit = slug(strings.Replace(key, "_ns", "", 1))+"_values", ""
				x.Statistic = ""
			} else if f.Unit == string(answer.Nanoseconds) {
				x.Text = explain.SecondsOf(f.Text)
			}
			l.Figures = append(l.Figures, x)
		}
		l.Histograms = histograms(e, labels)
		r.Levels = append(r.Levels, l)
	}
	return r
}

// histograms returns the histograms of the metrics of a level that have Bounds.
func histograms(e *analyze.Experiment, labels map[string]string) (all []Histogram) {
	for _, m := range e.Metrics {
		bounds := Bounds(m.Definition.Metric)
		if len(bounds) == 0 || len(m.Summary.AtMost) != len(bounds) {
			continue
		}
		key := m.Definition.Key()
		h := Histogram{Help: labels[key], OTel: m.Definition.OTel, AtMost: m.Summary.AtMost, N: m.Summary.N, Mean: m.Summary.Mean}
		scale := 1.0
		name, unit := ours(key, string(m.Definition.Unit()))
		if h.Unit = unit; unit == "seconds" {
			scale = 1e9
		}
		h.Name = strings.TrimSuffix(name, "_"+unit) + "_distribution_" + unit
		h.Mean /= scale
		for _, b := range bounds {
			h.Bounds = append(h.Bounds, strconv.FormatFloat(float64(b)/scale, 'f', -1, 64))
		}
		all = append(all, h)
	}
	return all
}

// Stated returns the figures that a file states.
func Stated(s *stated.Result) *Run {
	r := &Run{File: s.File, Name: nameOf(s.File), Definitions: s.Definitions, Tool: s.Tool(), Model: s.Model, URL: s.URL, Attributes: map[string]string{}}
	if s.Model != "" {
		r.Attributes[explain.OTelModel] = s.Model
	}
	began, names := parseTime(s.Began), distinct{}
	for i := range s.Levels {
		x := &s.Levels[i]
		l := Level{Name: names.name(cmp.Or(x.Name(), "load not known"), secondLevel), Mode: x.Mode, Value: x.Value, Start: began, End: began}
		for _, f := range x.Figures {
			text := numberText(f.Text, f.Value)
			if text == "" {
				r.Missing++
				continue
			}
			name, unit := "stated_"+slug(f.Metric), slug(f.Unit)
			if unit != "" && !strings.HasSuffix(name, "_"+unit) {
				name += "_" + unit
			}
			y := Figure{Name: name, Statistic: f.Statistic, Unit: unit, Text: text, Model: s.Model, Help: f.Metric + ", stated by " + s.Definitions}
			if slug(f.Metric) != f.Metric {
				y.Of = f.Metric
			}
			l.Figures = append(l.Figures, y)
		}
		r.Levels = append(r.Levels, l)
	}
	return r
}

// numberText returns a number as JSON has it, with its digits if it has such; "" for NaN and infinities.
func numberText(text string, v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return ""
	case json.Valid([]byte(text)) && strings.Trim(text, "0123456789+-.eE") == "":
		return text
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// nameOf returns the name of a file without its folder and endings.
func nameOf(file string) string {
	base := filepath.Base(file)
	if name, _, _ := strings.Cut(base, "."); name != "" && file != "-" {
		return name
	}
	return base
}

// distinct counts how often a name was asked for.
type distinct map[string]int

// name returns a name that it did not return before: the name itself or, by format, the name with a number behind it.
func (d distinct) name(name, format string) string {
	if d[name]++; d[name] == 1 {
		return name
	}
	for ; ; d[name]++ {
		if next := fmt.Sprintf(format, name, d[name]); d[next] == 0 {
			d[next] = 1
			return next
		}
	}
}

// secondLevel names a further level with the name of another.
const secondLevel = "%s (%d)"

// units holds the units that names are written out with, by the units of reports. Others are no part of a name.
var units = map[string]string{"ns": "seconds", "J": "joules", "W": "watts", "bytes": "bytes", "dollars": "dollars", "tokens": "tokens"}

// ours returns the name for a key of the report, and the unit that it ends with; "" if it ends with none.
func ours(key, unit string) (name, word string) {
	switch word = units[unit]; unit {
	case "ns":
		key = strings.Replace(key, "_ns", "", 1)
	case "J":
		key = strings.Replace(key, "_j", "", 1)
	}
	name = strings.TrimSuffix(strings.Replace(slug(key)+"_", "_per_s_", "_per_second_", 1), "_")
	if word != "" && !strings.HasSuffix(name, "_"+word) {
		name += "_" + word
	}
	return name, word
}

// longestSlug is the longest name that slug returns. File names and MLflow's keys have room for it and what is put before and behind it.
const longestSlug = 120

// slug returns a text as a part of a name: lower case letters and digits, and one underscore for all else. "/s" is written out, and
// "%" too. It returns "x" for a text without letters and digits, and "" for "".
func slug(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "/", "_per_"), "%", "_percent_")
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(text) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(c)
			gap = false
		default:
			gap = true
		}
		if b.Len() >= longestSlug {
			break
		}
	}
	if b.Len() == 0 && text != "" {
		return "x"
	}
	return b.String()
}

// The instants that a run can have: times outside of them are of a clock that does not count from 1970.
const (
	leastNS = 1e18 // in 2001
	mostNS  = 4e18 // in 2096
)

// instant returns a time of a recording; zero for a time that cannot be one.
func instant(ns uint64) time.Time {
	if ns < leastNS || ns > mostNS {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

// timeLayouts are the ways in which tools write the time of a run. Without a zone, the time counts as UTC.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "20060102-150405", "2006-01-02"}

// parseTime reads the time of a run; zero if it is in no known layout.
func parseTime(text string) time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && t.UnixNano() >= leastNS && t.Year() < 2096 {
			return t.UTC()
		}
	}
	return time.Time{}
}

// setTime gives all levels this time.
func (r *Run) setTime(t time.Time) {
	for i := range r.Levels {
		r.Levels[i].Start, r.Levels[i].End = t, t
	}
}

// timed reports whether the time of each level is known.
func (r *Run) timed() bool {
	for i := range r.Levels {
		if r.Levels[i].End.IsZero() {
			return false
		}
	}
	return true
}
