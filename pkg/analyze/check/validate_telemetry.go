package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// seriesTypes are the types in the text formats of Prometheus and OpenMetrics; "" means
// that the source gave none.
var seriesTypes = []string{"", "counter", "gauge", "histogram", "summary", "untyped", "unknown", "info", "stateset", "gaugehistogram"}

// fallingCounters are means and maxima that llama.cpp calls counters.
var fallingCounters = []string{"llamacpp:n_busy_slots_per_decode", "llamacpp:n_tokens_max"}

// A sourceCheck holds the state of the checks of one source of telemetry.
type sourceCheck struct {
	scrapes, failed int
	leftOut         int // samples
	emptied         int // scrapes that lost all samples
	endNS           uint64
	startedAt       float64 // of ProcessStartMetric
	series          map[*export.Series]*seriesCheck
}

type seriesCheck struct {
	counter bool
	last    float64
	scrape  int // that it was last in
}

// telemetry checks the scrapes of a file.
func (v *validator) telemetry(ctx context.Context, r export.Reader) error {
	v.at = Violation{Experiment: -1, Request: -1}
	sources := map[string]*sourceCheck{}
	var order []string
	err := r.Scrapes(ctx, func(s *export.Scrape) error {
		c := sources[s.Source]
		if c == nil {
			c = &sourceCheck{series: map[*export.Series]*seriesCheck{}}
			sources[s.Source], order = c, append(order, s.Source)
		}
		v.scrape(s, c)
		return nil
	})
	if err != nil {
		return err
	}
	m := r.Run().Meta
	if m == nil || m.Telemetry == nil {
		return nil // of a run that was cut off
	}
	for i := range m.Telemetry {
		t := &m.Telemetry[i]
		c := sources[t.Source]
		if c == nil {
			c = &sourceCheck{}
		}
		if c.scrapes != t.Scrapes || c.failed != t.Failed {
			v.say("the file's metadata counts %s of %s (%d failed), but the file holds %d (%d failed)", plural.Of(t.Scrapes, "scrape"), t.Source, t.Failed, c.scrapes, c.failed)
		}
		if c.leftOut != t.LeftOut || c.emptied != t.Emptied {
			v.say("the file states %s of %s as left out, all of %s, and its scrapes state %d, all of %d", plural.Of(t.LeftOut, "sample"), t.Source, plural.Of(t.Emptied, "scrape"), c.leftOut, c.emptied)
		}
		if len(c.series) != t.Series {
			v.say("the file's metadata counts %d series of %s, but the file holds %d", t.Series, t.Source, len(c.series))
		}
	}
	for _, source := range order {
		if !slices.ContainsFunc(m.Telemetry, func(t export.TelemetrySource) bool { return t.Source == source }) {
			v.say("there are scrapes of %s, which is not a telemetry source of the run", source)
		}
	}
	return nil
}

// scrape checks one scrape.
func (v *validator) scrape(s *export.Scrape, c *sourceCheck) {
	what := fmt.Sprintf("scrape %d of %s", c.scrapes, s.Source)
	c.scrapes++
	if s.EndNS < s.StartNS {
		v.say("%s was answered at %d, %s before it was asked for", what, s.EndNS, nanoseconds(s.EndNS, s.StartNS))
	}
	if s.StartNS < c.endNS {
		v.say("%s at %d is %s before the end of the previous scrape", what, s.StartNS, nanoseconds(s.StartNS, c.endNS))
	}
	c.endNS = max(s.StartNS, s.EndNS)
	if s.Error != "" {
		c.failed++
		if len(s.Samples) > 0 {
			v.say("%s failed and has %s", what, plural.Of(len(s.Samples), "sample"))
		}
		return
	}
	if c.leftOut += s.LeftOut; s.LeftOut > 0 && len(s.Samples) == 0 {
		c.emptied++
	}
	// A counter that falls is fine when the source was started again: it says so,
	// or all of its counters begin anew.
	restarted, fell, went := false, 0, 0
	var first string
	for i := range s.Samples {
		x := &s.Samples[i]
		k := c.series[x.Series]
		if k == nil {
			k = &seriesCheck{counter: addsUp(x.Series)}
			c.series[x.Series] = k
			if !slices.Contains(seriesTypes, x.Series.Type) {
				v.say("%s: series %s has the unknown type %q", what, x.Series, x.Series.Type)
			}
			if x.Series.Source != s.Source {
				v.say("%s: series %s is of another source, %s", what, x.Series, x.Series.Source)
			}
		} else if k.scrape == c.scrapes {
			v.say("%s has two values of %s", what, x.Series)
		}
		if x.Series.Name == export.ProcessStartMetric {
			restarted = restarted || c.startedAt != 0 && x.Value != c.startedAt
			c.startedAt = x.Value
		}
		switch {
		case !k.counter || !(k.last > 0):
		case x.Value < k.last:
			if fell++; fell == 1 {
				first = fmt.Sprintf("%s fell from %v to %v", x.Series, k.last, x.Value)
			}
		default:
			went++
		}
		k.last, k.scrape = x.Value, c.scrapes
	}
	if fell > 0 && went > 0 && !restarted {
		others := ""
		if fell > 1 {
			others = fmt.Sprintf(", and %s fell", plural.Of(fell-1, "other"))
		}
		v.say("%s: counter %s%s, though the source was not started again; counters that went on: %d", what, first, others, went)
	}
}

// addsUp reports whether a series never falls while its source runs: a counter, or
// the counts of a histogram or summary.
func addsUp(s *export.Series) bool {
	switch s.Type {
	case "counter":
		return !slices.Contains(fallingCounters, s.Name)
	case "histogram", "summary":
		return strings.HasSuffix(s.Name, "_count") || strings.HasSuffix(s.Name, "_bucket")
	}
	return false
}

// statistics checks the counts of a Triton server about its models.
func (v *validator) statistics(e *export.Experiment) {
	if e.Meta == nil || e.Meta.ServerStats == nil {
		return
	}
	s := e.Meta.ServerStats
	for i := range s.Models {
		for _, k := range s.Models[i].Composing {
			if k < 0 || k >= len(s.Models) {
				v.say("model %q is composed of model %d of %d", s.Models[i].Name, k, len(s.Models))
			}
		}
	}
	for i := range s.Snapshots {
		x := &s.Snapshots[i]
		what := fmt.Sprintf("statistics at the edge %q", x.Edge)
		switch x.Edge {
		case export.EdgeLevel, export.EdgeMeasure, export.EdgeEnd:
		case export.EdgeWindow:
			what += fmt.Sprintf(" %d", x.Window)
			if n := len(e.WindowBoundaries) - 1; x.Window < 0 || x.Window >= n {
				v.say("%s: the level has %s", what, plural.Of(max(0, n), "window"))
			}
		default:
			v.say("statistics at an unknown edge %q", x.Edge)
		}
		if x.EndNS < x.StartNS {
			v.say("%s were there at %d, %s before they were asked for", what, x.EndNS, nanoseconds(x.EndNS, x.StartNS))
		}
		if i == 0 {
			continue
		}
		before := &s.Snapshots[i-1]
		if x.StartNS < before.StartNS {
			v.say("%s at %d are %s before the statistics at the edge %q", what, x.StartNS, nanoseconds(x.StartNS, before.StartNS), before.Edge)
		}
		for k := range x.Stats {
			m := &x.Stats[k]
			if o := before.Stat(m.Name, m.Version); o != nil {
				v.counted(what, m, o)
			}
		}
	}
}

// counted checks the counters of a model against its previous ones. One counter must not
// fall alone: all fall if the model was loaded again.
func (v *validator) counted(what string, m, before *export.ModelStats) {
	a, b := &before.InferenceStats, &m.InferenceStats
	fell, went := "", 0
	for _, x := range []struct {
		name     string
		old, new uint64
	}{
		{"inference_count", before.InferenceCount, m.InferenceCount},
		{"execution_count", before.ExecutionCount, m.ExecutionCount},
		{"success", a.Success.Count, b.Success.Count},
		{"fail", a.Fail.Count, b.Fail.Count},
		{"queue", a.Queue.Count, b.Queue.Count},
		{"compute_input", a.ComputeInput.Count, b.ComputeInput.Count},
		{"compute_infer", a.ComputeInfer.Count, b.ComputeInfer.Count},
		{"compute_output", a.ComputeOutput.Count, b.ComputeOutput.Count},
		{"cache_hit", a.CacheHit.Count, b.CacheHit.Count},
		{"cache_miss", a.CacheMiss.Count, b.CacheMiss.Count},
		{"time of success", a.Success.NS, b.Success.NS},
		{"time of queue", a.Queue.NS, b.Queue.NS},
		{"time of compute_infer", a.ComputeInfer.NS, b.ComputeInfer.NS},
	} {
		switch {
		case x.old == 0:
		case x.new >= x.old:
			went++
		case fell == "":
			fell = fmt.Sprintf("%s fell from %d to %d", x.name, x.old, x.new)
		}
	}
	if fell != "" && went > 0 {
		v.say("%s: %s of model %q version %s, though the model was not loaded again; counters that went on: %d", what, fell, m.Name, m.Version, went)
	}
}
