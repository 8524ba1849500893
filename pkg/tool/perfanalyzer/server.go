package perfanalyzer

import "github.com/pa-tools/pa/pkg/export"

// average returns the mean in whole microseconds; 0 for an empty CountNS.
// perf_analyzer divides by the count in thousands, which rounds down once.
func average(c export.CountNS) uint64 {
	if c.Count == 0 {
		return 0
	}
	return c.NS / (c.Count * 1000)
}

// compute returns the time in the model: input, inference and output together.
func compute(s *Stats) export.CountNS {
	return export.CountNS{Count: s.ComputeInput.Count, NS: s.ComputeInput.NS + s.ComputeInfer.NS + s.ComputeOutput.NS}
}

// cached returns the times of compute and of the cache together, over all requests
// that either of them served.
func cached(s *Stats) export.CountNS {
	c := compute(s)
	return export.CountNS{Count: c.Count + s.CacheHit.Count, NS: c.NS + s.CacheHit.NS + s.CacheMiss.NS}
}

// durations are sums of means over the composing models of an ensemble, in µs.
type durations struct{ queue, compute, hit, miss, cached uint64 }

// ensemble adds up the times of the models below m.
func ensemble(m *Model) durations {
	own := &m.Stats
	d := durations{hit: average(own.CacheHit), miss: average(own.CacheMiss)}
	for i := range m.Composing {
		c := &m.Composing[i]
		if len(c.Composing) > 0 {
			below := ensemble(c)
			d.queue += below.queue
			d.compute += below.compute
			d.hit += below.hit
			d.miss += below.miss
			d.cached += below.cached
			continue
		}
		s := &c.Stats
		d.queue += average(s.Queue)
		d.compute += average(compute(s))
		d.hit += average(s.CacheHit)
		d.miss += average(s.CacheMiss)
		d.cached += average(cached(s))
	}
	return d
}

// less returns a − b, 0 if that is negative.
func less(a, b uint64) uint64 { return a - min(a, b) }

// writeServer writes the server's statistics of a model; nil if they are unknown.
func (s *Settings) writeServer(p *printer, m *Model) {
	if m == nil {
		p.linef("    Inference count: %s", absent)
		p.linef("    Execution count: %s", absent)
		p.linef("    Successful request count: %s", absent)
		p.linef("    Avg request latency: %s usec (overhead %[1]s usec + queue %[1]s usec + compute input %[1]s usec + compute infer %[1]s usec + compute output %[1]s usec)", absent)
		s.blank(p)
		return
	}
	s.writeModel(p, m, m.ResponseCache, "  ")
}

// blank ends the statistics of a model.
func (s *Settings) blank(p *printer) {
	if s.release().rules.blankAfterServer {
		p.linef("")
	}
}

// writeModel writes the statistics of a model, and below it its composing models.
// cache is set if the report is about a model with a cache.
func (s *Settings) writeModel(p *printer, m *Model, cache bool, indent string) {
	st := &m.Stats
	if st.Success.Count == 0 {
		p.linef("%s  Request count: 0", indent)
		return
	}
	p.linef("%s  Inference count: %d", indent, m.Inferences)
	p.linef("%s  Execution count: %d", indent, m.Executions)
	if cache {
		p.linef("%s  Cache hit count: %d", indent, st.CacheHit.Count)
		p.linef("%s  Cache miss count: %d", indent, st.CacheMiss.Count)
	}
	p.linef("%s  Successful request count: %d", indent, st.Success.Count)
	latency := average(st.Success)
	head := indent + "  Avg request latency: " + whole(latency, true) + " usec"
	switch {
	case len(m.Composing) > 0:
		s.writeEnsemble(p, m, cache, head, indent)
	case cache:
		all := average(cached(st))
		p.linef("%s (overhead %d usec + queue %d usec + cache hit/miss %d usec)", head, less(latency, average(st.Queue)+all), average(st.Queue), all)
		p.linef("%s%s  Average Cache Hit Latency: %d usec", indent, indent, average(st.CacheHit))
		p.linef("%s%s  Average Cache Miss Latency: %d usec (cache lookup/insertion %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)",
			indent, indent, average(st.CacheMiss)+average(compute(st)), average(st.CacheMiss), average(st.ComputeInput), average(st.ComputeInfer), average(st.ComputeOutput))
		s.blank(p)
	default:
		p.linef("%s (overhead %d usec + queue %d usec + compute input %d usec + compute infer %d usec + compute output %d usec)", head,
			less(latency, average(st.Queue)+average(compute(st))), average(st.Queue), average(st.ComputeInput), average(st.ComputeInfer), average(st.ComputeOutput))
		s.blank(p)
	}
}

// writeEnsemble writes the server's times of an ensemble and of its models.
func (s *Settings) writeEnsemble(p *printer, m *Model, cache bool, head, indent string) {
	latency, d := average(m.Success), ensemble(m)
	switch {
	case cache && m.TopLevelCache:
		p.linef("%s", head)
	case cache:
		p.linef("%s (overhead %d usec + queue %d usec + cache hit/miss %d usec)", head, less(latency, d.queue+d.cached), d.queue, d.cached)
	default:
		p.linef("%s (overhead %d usec + queue %d usec + compute %d usec)", head, less(latency, d.queue+d.compute), d.queue, d.compute)
	}
	if cache {
		p.linef("%s%s  Average Cache Hit Latency: %d usec", indent, indent, d.hit)
		p.linef("%s%s  Average Cache Miss Latency: %d usec ", indent, indent, d.miss+d.compute)
	}
	p.linef("")
	p.linef("%sComposing models: ", indent)
	for i := range m.Composing {
		c := &m.Composing[i]
		p.linef("%s%s, version: %s", indent, c.Name, c.Version)
		s.writeModel(p, c, cache, indent+"  ")
	}
}
