package shards

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// joinRun returns the header of the run of all shards, which are in the order of ranks. whole
// is the shard with the levels of the run.
func joinRun(all []*rankShard, whole *rankShard, sources *sourceNames) (run *export.Run, lost []string) {
	first := all[0].run
	run = &export.Run{Version: first.Version, ServiceKind: first.ServiceKind, Endpoint: first.Endpoint, Extra: first.Extra}
	n := &notes{}
	for i := range whole.run.Experiments {
		run.Experiments = append(run.Experiments, joinLevel(&whole.run.Experiments[i], i, all, n))
	}
	m := *first.Meta
	run.Meta = &m
	m.Shard = nil
	m.StartNS, m.EndNS, m.Stamps, m.Pauses, m.Warnings, m.Interrupted = 0, 0, nil, nil, nil, ""
	m.Models, m.URLs, m.Telemetry = slices.Clone(m.Models), slices.Clone(m.URLs), nil
	var warnings []rankWarning
	for _, s := range all {
		joinMeta(&m, metaOf(s), s.meta.Rank, s.clock)
		for _, w := range metaOf(s).Warnings {
			warnings = append(warnings, rankWarning{s.meta.Rank, w})
		}
		if metaOf(s).Calibration != nil {
			m.Calibration = nil
			n.leaveOut("the calibrations: each is of one machine, and in its shard")
		}
	}
	slices.SortStableFunc(m.Pauses, func(a, b export.Pause) int { return cmp.Compare(a.StartNS, b.StartNS) })
	m.Host = joinHost(all)
	m.Telemetry = sources.join(all, n)
	lost = missing(all, run.Experiments)
	m.Warnings = ofRanks(warnings, len(all))
	for _, text := range lost {
		m.Warnings = append(m.Warnings, IncompleteWarning+text)
	}
	clocks := contradictions(all) // before the places, whose bounds it widens
	m.Merged = joinPlaces(all)
	m.Warnings = append(m.Warnings, clocks...)
	if w := unknownClocks(all); w != "" {
		m.Warnings = append(m.Warnings, w)
	}
	m.Merged.LeftOut = n.all
	return run, lost
}

// IncompleteWarning begins the warning of a merged run about ranks that are missing.
const IncompleteWarning = "the run is not whole: "

// UnknownClocksWarning begins the warning of a merged run about clocks that were not compared.
const UnknownClocksWarning = "the clocks were not compared with rank 0's: "

// unknownClocks returns the warning about ranks whose clocks were not compared; "" for none.
func unknownClocks(all []*rankShard) string {
	var ranks []int
	n := 0
	for _, s := range all {
		if !s.clock.known {
			if n++; len(ranks) < maxNamed {
				ranks = append(ranks, s.meta.Rank)
			}
		}
	}
	if n == 0 {
		return ""
	}
	return UnknownClocksWarning + rankNames(ranks, n) + "; rates and the number of requests in flight are right only as far as the machines' clocks agree"
}

// joinPlaces returns the places of the shards.
func joinPlaces(all []*rankShard) *export.MergedMeta {
	p := all[0].meta
	m := &export.MergedMeta{Run: p.Run, PlanSHA256: p.PlanSHA256, WorldSize: p.WorldSize, DividedBy: p.DividedBy, Launcher: p.Launcher}
	bound, known := int64(0), true
	for _, s := range all {
		x := export.MergedShard{Rank: s.meta.Rank, OffsetNS: s.clock.shiftNS}
		if h := metaOf(s).Host; h != nil {
			x.Host = h.Name
		}
		if known = known && s.clock.known; s.clock.known {
			own := s.clock.boundNS
			x.BoundNS = &own
			bound = max(bound, own)
		}
		m.Shards = append(m.Shards, x)
	}
	if known {
		m.ClockBoundNS = &bound
	}
	return m
}

// joinMeta adds what the shard of a rank says to m, which begins as the first shard's.
func joinMeta(m, x *export.RunMeta, rank int, c clock) {
	if t := c.at(x.StartNS); t != 0 && (m.StartNS == 0 || t < m.StartNS) {
		m.StartNS = t
	}
	m.EndNS = max(m.EndNS, c.at(x.EndNS))
	if x.Stamps != nil {
		if m.Stamps == nil {
			m.Stamps = &export.StampCount{}
		}
		m.Stamps.Merge(*x.Stamps)
	}
	if m.Interrupted == "" {
		m.Interrupted = x.Interrupted
	}
	for _, p := range x.Pauses {
		p.StartNS, p.EndNS, p.Rank = c.at(p.StartNS), c.at(p.EndNS), rank
		m.Pauses = append(m.Pauses, p)
	}
	if m.PromptsSHA256 != x.PromptsSHA256 {
		m.PromptsSHA256 = ""
	}
	if m.Streaming != nil && (x.Streaming == nil || *x.Streaming != *m.Streaming) {
		m.Streaming = nil
	}
	if m.Tool != x.Tool && !strings.Contains(m.Tool, x.Tool) {
		m.Tool += ", " + x.Tool
	}
	if m.Parameters != nil || x.Parameters != nil {
		m.Parameters = joinParameters(m.Parameters, x.Parameters)
	}
	m.Models = joinNames(m.Model, m.Models, x.Model, x.Models)
	m.URLs = joinNames(m.URL, m.URLs, x.URL, x.URLs)
}

// joinNames adds the names of another rank to list, which is nil if first is the only one.
func joinNames(first string, list []string, otherFirst string, other []string) []string {
	for _, name := range append([]string{otherFirst}, other...) {
		if name == "" || name == first || slices.Contains(list, name) {
			continue
		}
		if len(list) == 0 && first != "" {
			list = []string{first}
		}
		list = append(list, name)
	}
	return list
}

// joinParameters returns the parameters of two ranks; "varies" where they differ.
func joinParameters(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for name, v := range a {
		if w, ok := b[name]; !ok || w != v {
			v = "varies"
		}
		out[name] = v
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out[name] = "varies"
		}
	}
	return out
}

// joinHost returns the machine of all ranks; nil if the ranks ran on different machines.
func joinHost(all []*rankShard) *export.HostMeta {
	host := metaOf(all[0]).Host
	for _, s := range all {
		own := metaOf(s).Host
		if host == nil || own == nil || *own != *host {
			return nil
		}
	}
	return host
}

// missing returns the texts of Missing.
func missing(all []*rankShard, levels []export.Experiment) []string {
	size := all[0].meta.WorldSize
	var lost []int
	next := 0
	for _, s := range all {
		for ; next < s.meta.Rank && len(lost) < maxNamed; next++ {
			lost = append(lost, next)
		}
		next = s.meta.Rank + 1
	}
	for ; next < size && len(lost) < maxNamed; next++ {
		lost = append(lost, next)
	}
	var texts []string
	if n := size - len(all); n > 0 {
		texts = append(texts, fmt.Sprintf("%s of %s %s missing, with %s: these figures are of the other ranks", rankNames(lost, n), plural.Grouped(size), plural.Form(n, "is", "are"), lostLoad(all, levels, n, size)))
	}
	for _, s := range all {
		var names []string
		for i := range levels {
			if !slices.Contains(s.levels, i) {
				names = append(names, loadName(&levels[i]))
			}
		}
		if names != nil {
			texts = append(texts, fmt.Sprintf("rank %d has no %s: its recording ended before", s.meta.Rank, listed(names)))
		}
	}
	return texts
}

// lostLoad describes the load of n missing ranks among size: the part of each level that the
// shards do not have. A shard without the level counts as its unknown share.
func lostLoad(all []*rankShard, levels []export.Experiment, n, size int) string {
	var shares, texts []string
	for i := range levels {
		have, known := 0.0, true
		for _, s := range all {
			part := s.part(i)
			if part == nil {
				known = false
				break
			}
			v, ok := share(&levels[i], part)
			have, known = have+v, known && ok
		}
		if known {
			shares = append(shares, percent(1-min(have, 1)))
			texts = append(texts, fmt.Sprintf("%s of the load of %s", shares[len(shares)-1], loadName(&levels[i])))
		}
	}
	same := len(shares) > 0 && len(slices.Compact(slices.Clone(shares))) == 1
	switch {
	case same && len(shares) == len(levels):
		return shares[0] + " of the load"
	case len(shares) > 0:
		return listed(texts)
	}
	return fmt.Sprintf("%s of the ranks (the shards do not state shares of the load)", percent(float64(n)/float64(size)))
}

// ClockContradictionWarning begins the warning of a merged run about ranks of one machine whose
// clocks would differ.
const ClockContradictionWarning = "the clocks contradict each other: "

// contradictions returns a warning for each machine whose ranks have different clocks according
// to their offsets and bounds, although a machine has one clock. It widens the bounds of these
// ranks so that they cover all their offsets.
func contradictions(all []*rankShard) (warnings []string) {
	var order []string
	machines := map[string][]*rankShard{}
	for _, s := range all {
		// A machine may be called localhost because nobody gave it a name.
		if h := metaOf(s).Host; h != nil && h.Name != "" && !strings.HasPrefix(h.Name, "localhost") && s.clock.known {
			if machines[h.Name] == nil {
				order = append(order, h.Name)
			}
			machines[h.Name] = append(machines[h.Name], s)
		}
	}
	for _, name := range order {
		ranks := machines[name]
		early, late := ranks[0], ranks[0] // whose clock is surely before, and surely after
		low, high := ranks[0].clock.low(), ranks[0].clock.high()
		for _, s := range ranks {
			if s.clock.high() < early.clock.high() {
				early = s
			}
			if s.clock.low() > late.clock.low() {
				late = s
			}
			low, high = min(low, s.clock.low()), max(high, s.clock.high())
		}
		if late.clock.low() <= early.clock.high() {
			continue
		}
		text := fmt.Sprintf("ranks %d and %d ran on one machine (%s), but the offsets of their clocks are %s and %s",
			early.meta.Rank, late.meta.Rank, strconv.Quote(name), early.clock, late.clock)
		widest := int64(0)
		for _, s := range ranks {
			s.clock.boundNS = max(high-s.clock.shiftNS, s.clock.shiftNS-low)
			widest = max(widest, s.clock.boundNS)
		}
		warnings = append(warnings, fmt.Sprintf("%s%s; the bound of these clocks is therefore %s: check that each file is of the rank and machine that it names",
			ClockContradictionWarning, text, plural.Time(time.Duration(widest))))
	}
	return warnings
}

// sourceNames says which telemetry of which rank belongs to the run. A server whose metrics
// several ranks read is kept once, because its figures cover all requests. Tools such as
// nvidia-smi run on several machines under one name; the machine's name is added.
type sourceNames struct {
	// names holds for each shard the name in the run by the name in the shard. A source
	// that is left out has none.
	names []map[string]string
}

// join returns the sources of the run.
func (t *sourceNames) join(all []*rankShard, n *notes) []export.TelemetrySource {
	t.names = make([]map[string]string, len(all))
	type place struct{ source, host string }
	keeper := map[place]int{} // the shard that keeps a source
	hosts := map[string]map[string]bool{}
	for _, s := range all {
		for _, x := range metaOf(s).Telemetry {
			if hosts[x.Source] == nil {
				hosts[x.Source] = map[string]bool{}
			}
			hosts[x.Source][x.Host] = true
		}
	}
	for i, s := range all {
		for _, x := range metaOf(s).Telemetry {
			p := place{x.Source, x.Host}
			if _, known := keeper[p]; !known || x.Scrapes-x.Failed > 0 && noneOf(all[keeper[p]], p.source) {
				keeper[p] = i
			}
		}
	}
	var out []export.TelemetrySource
	for i, s := range all {
		t.names[i] = map[string]string{}
		for _, x := range metaOf(s).Telemetry {
			if k := keeper[place{x.Source, x.Host}]; k != i {
				n.leaveOut(fmt.Sprintf("metrics of %s that further ranks read: rank %d read them too", x.Source, all[k].meta.Rank))
				continue
			}
			name := x.Source
			if len(hosts[x.Source]) > 1 {
				name += " on " + x.Host
			}
			t.names[i][x.Source] = name
			x.Source = name
			out = append(out, x)
		}
	}
	return out
}

// noneOf reports whether a shard has no successful scrape of a source.
func noneOf(s *rankShard, source string) bool {
	for _, x := range metaOf(s).Telemetry {
		if x.Source == source && x.Scrapes-x.Failed > 0 {
			return false
		}
	}
	return true
}
