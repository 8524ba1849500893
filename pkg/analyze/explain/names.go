package explain

import (
	"sync"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Group is a part of the report: the value of --metrics that shows it, "" for the part that is
// always there, or Rates.
type Group string

// The groups.
const (
	Usual     Group = ""
	Rates     Group = "rates"
	Quality   Group = "quality"
	Economics Group = "economics"
	Prefix    Group = "prefix"
	Phases    Group = "phases"
	Images    Group = "images"
	// Stated is shown where Rates are n/a and the file of another tool states its duration.
	Stated Group = "stated"
)

// An Entry is a number of the report.
type Entry struct {
	Group Group
	// Key is the name in JSON and CSV: "ttft_ns".
	Key, Label string
	// Unit is as in JSON: "ns", "tokens", "1/s", …
	Unit         string
	Formula, Doc string
	Source       string // where the definition was published; "" for our own
	// OfLevel says that a level has one value; else each request has one, or several.
	OfLevel bool
	answer.Foreign
}

// Definition returns the label, the unit, the formula and the source of e: "TTFT [ns]: first token event − start".
// Schemas and comments of queries hold it.
func (e *Entry) Definition() string {
	text := e.Label + " [" + e.Unit + "]: " + e.Formula
	if e.Source != "" {
		text += " (" + e.Source + ")"
	}
	return text
}

// The keys of the rates in the member throughput of JSON.
const (
	KeyRequestRate = "requests_per_s"
	KeyOutputRate  = "output_tokens_per_s"
	KeyTotalRate   = "total_tokens_per_s"
	KeyUserRate    = "output_tokens_per_s_per_user"
)

// rates are the rates of a level, in the order of the report.
var rates = [...]Entry{
	{Key: KeyRequestRate, Label: "requests/s", Unit: "1/s", Formula: "successful requests / duration, first start to last response of any kind", Foreign: answer.Foreign{GuideLLM: "requests_per_second", InferencePerf: "requests_per_sec"}},
	{Key: KeyOutputRate, Label: "output tok/s", Unit: "1/s", Formula: "Σ output tokens / the same duration", Foreign: answer.Foreign{GuideLLM: "output_tokens_per_second", InferencePerf: "output_tokens_per_sec"}},
	{Key: KeyTotalRate, Label: "total tok/s", Unit: "1/s", Formula: "Σ input and output tokens / the same duration", Foreign: answer.Foreign{GuideLLM: "tokens_per_second", InferencePerf: "total_tokens_per_sec"}},
	{Key: KeyUserRate, Label: "output tok/s/user", Unit: "1/s", Formula: "output tokens per second / concurrency"},
}

// All returns all entries, in the order of a report. The caller must not change them.
func All() []Entry { return entries() }

// entries returns all entries. It makes them once, because pa-analyze sql looks up dozens of them.
var entries = sync.OnceValue(func() []Entry {
	var all []Entry
	metrics := func(group Group, defs []answer.Definition) {
		for i := range defs {
			d := &defs[i]
			all = append(all, Entry{Group: group, Key: d.Key(), Label: d.Label(), Unit: string(d.Unit()), Formula: d.Formula, Doc: d.Doc, Source: d.Source, Foreign: d.Foreign})
		}
	}
	figures := func(group Group, figures []figure.Figure) {
		for i := range figures {
			f := &figures[i]
			all = append(all, Entry{Group: group, Key: f.Key, Label: f.Label, Unit: f.Unit, Formula: f.Formula, Source: f.Source, OfLevel: true})
		}
	}
	metrics(Usual, answer.StrictMetrics)
	for _, r := range rates {
		r.Group, r.OfLevel = Rates, true
		all = append(all, r)
	}
	for _, p := range figure.Parts {
		metrics(Group(p.Name), p.Metrics)
		figures(Group(p.Name), p.Figures)
	}
	return all
})

// Find returns the entry of a group with a key. ofLevel chooses between a figure, which has one value for a level, and
// a metric, which has values for requests. Find returns the zero Entry if there is no such entry.
func Find(group Group, key string, ofLevel bool) Entry {
	all := All()
	for i := range all {
		if e := &all[i]; e.Group == group && e.Key == key && e.OfLevel == ofLevel {
			return *e
		}
	}
	return Entry{}
}
