package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// latestNS is after every run: the year 2200.
var latestNS = uint64(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())

// mostSlots is above every concurrency that a machine can hold: its requests would take 65 TB of pa-record.
const mostSlots = 1e9

// Possible returns the run without the facts that cannot be true, and a text about each of these:
// "pa.merged.world_size is -4". It returns r itself if all can be true. [ClientMeta.Possible] and
// [Calibration.Possible] are about the figures of the client and the calibration.
func (r *Run) Possible() (p *Run, wrong []string) {
	meta, wrong := r.Meta.Possible()
	experiments := r.Experiments
	for i := range r.Experiments {
		e, bad := r.Experiments[i].Possible()
		if bad == nil {
			continue
		}
		if &experiments[0] == &r.Experiments[0] {
			experiments = slices.Clone(experiments)
		}
		experiments[i] = e
		for _, text := range bad {
			wrong = append(wrong, fmt.Sprintf("experiment %d: %s", i, text))
		}
	}
	if wrong == nil {
		return r, nil
	}
	c := *r
	c.Meta, c.Experiments = meta, experiments
	return &c, wrong
}

// Possible returns the facts of m that can be true, without a look at the calibration, and a text about each of the
// others. It returns m itself if all can be true.
func (m *RunMeta) Possible() (p *RunMeta, wrong []string) {
	if m == nil {
		return nil, nil
	}
	c := *m
	if m.StartNS > latestNS || m.EndNS > latestNS || m.EndNS != 0 && (m.EndNS < m.StartNS || m.StartNS != 0 && m.EndNS-m.StartNS > uint64(LongestNS)) {
		wrong = append(wrong, fmt.Sprintf("pa.start_ns is %d and pa.end_ns is %d", m.StartNS, m.EndNS))
		c.StartNS, c.EndNS = 0, 0
	}
	if c.Merged != nil {
		var bad []string
		c.Merged, bad = c.Merged.possible()
		wrong = append(wrong, bad...)
	}
	if wrong == nil {
		return m, nil
	}
	return &c, wrong
}

// possible returns what can be true of m, nil if the ranks cannot, and a text about the rest.
func (m *MergedMeta) possible() (p *MergedMeta, wrong []string) {
	say := func(member string, v any) { wrong = append(wrong, fmt.Sprintf("pa.merged.%s is %v", member, v)) }
	if m.WorldSize < 1 || m.WorldSize > mostCores || m.WorldSize < len(m.Shards) {
		say("world_size", m.WorldSize)
		return nil, wrong
	}
	c := *m
	c.Shards = slices.Clone(m.Shards)
	for i := range c.Shards {
		s := &c.Shards[i]
		if s.Rank < 0 || s.Rank >= m.WorldSize {
			say(fmt.Sprintf("shards[%d].rank", i), s.Rank)
			return nil, wrong
		}
		if s.BoundNS != nil && !possibleSpans(*s.BoundNS) {
			say(fmt.Sprintf("shards[%d].bound_ns", i), *s.BoundNS)
			s.BoundNS, c.ClockBoundNS = nil, nil
		}
	}
	if b := m.ClockBoundNS; b != nil && !possibleSpans(*b) {
		say("clock_bound_ns", *b)
		c.ClockBoundNS = nil
	}
	if wrong == nil {
		return m, nil
	}
	return &c, wrong
}

// Possible returns what can be true of the experiment, and a text about the rest.
func (e *Experiment) Possible() (p Experiment, wrong []string) {
	c := *e
	v, err := strconv.ParseFloat(e.Value, 64)
	most := map[string]float64{ModeConcurrency: mostSlots, ModeRequestRate: mostPerSecond}[e.Mode]
	if (err == nil || math.IsInf(v, 0)) && most > 0 && !(v >= 0 && v <= most) {
		wrong = append(wrong, fmt.Sprintf("%s is %.40s", e.Mode, e.Value))
		c.Mode, c.Value = "", ""
	}
	if e.Meta == nil {
		return c, wrong
	}
	m := *e.Meta
	if m.StartNS > latestNS || m.EndNS > latestNS || m.EndNS != 0 && m.EndNS < m.StartNS {
		wrong = append(wrong, fmt.Sprintf("pa.start_ns is %d and pa.end_ns is %d", m.StartNS, m.EndNS))
		m.StartNS, m.EndNS = 0, 0
	}
	for _, count := range [...]struct {
		name string
		n    *int
	}{
		{"measured", &m.Measured},
		{"failed", &m.Failed},
		{"warmup", &m.Warmup},
		{"late", &m.Late},
		{"cancelled", &m.Cancelled},
		{"resent", &m.Resent},
		{"outputs_dropped", &m.OutputsDropped},
		{"unreadable", &m.Unreadable},
	} {
		if *count.n < 0 || *count.n > mostThings {
			wrong = append(wrong, fmt.Sprintf("pa.%s is %d", count.name, *count.n))
			*count.n = 0
		}
	}
	if wrong != nil {
		c.Meta = &m
	}
	return c, wrong
}
