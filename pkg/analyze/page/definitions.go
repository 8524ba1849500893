package page

import (
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
)

// A definition is an entry of the list at the end of the page.
type definition struct {
	ID      string // of the element
	Name    string
	Formula string
	Doc     string
	Source  string
}

// definitions are the definitions of the metrics that a page shows, by the keys of JSON.
type definitions struct {
	all  []definition
	keys map[string]int // index in all
}

// newDefinitions collects the definitions that the analysis of the runs used.
func newDefinitions(reports []*analyze.Report) *definitions {
	d := &definitions{keys: map[string]int{}}
	metrics := func(all []summary.Metric) {
		for _, m := range all {
			x := m.Definition
			d.add(x.Key(), definition{Name: x.Label(), Formula: x.Formula, Doc: x.Doc, Source: x.Source})
		}
	}
	for _, rep := range reports {
		for i := range rep.Experiments {
			e := &rep.Experiments[i]
			metrics(e.Metrics)
			for _, x := range explain.Strict(rep, e) {
				if key := rateKeys[x.Measure]; key != "" {
					d.add(key, definition{Name: x.Measure.Words(), Formula: x.Formula})
				}
			}
			for _, p := range figure.Parts {
				ofRequests, ofLevel := p.Of(&e.Level)
				metrics(ofRequests)
				for _, f := range ofLevel {
					d.add(f.Key, definition{Name: f.Label, Formula: f.Formula, Source: f.Source})
				}
			}
		}
	}
	return d
}

// rateKeys are the keys of JSON of the rates.
var rateKeys = map[explain.Measure]string{
	explain.Requests: "ok", explain.RequestRate: "requests_per_s", explain.OutputRate: "output_tokens_per_s",
	explain.TotalRate: "total_tokens_per_s", explain.UserRate: "output_tokens_per_s_per_user",
}

func (d *definitions) add(key string, x definition) {
	if _, ok := d.keys[key]; ok || x.Formula == "" {
		return
	}
	x.ID = "def-" + key
	d.keys[key] = len(d.all)
	d.all = append(d.all, x)
}

// name returns the name of the definition of a key; the words of the key if there is no definition.
func (d *definitions) name(key string) string {
	if i, ok := d.keys[key]; ok {
		return d.all[i].Name
	}
	return plain(words(key))
}

// of returns the id of the definition of a key; "" if there is none.
func (d *definitions) of(key string) string {
	if i, ok := d.keys[key]; ok {
		return d.all[i].ID
	}
	return ""
}
