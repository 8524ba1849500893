package shards

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// notes collects the facts that a merged run leaves out, each once.
type notes struct{ all []string }

func (n *notes) leaveOut(text string) {
	if !slices.Contains(n.all, text) {
		n.all = append(n.all, text)
	}
}

// joinRun returns the header of the run of all shards, which are in the order of ranks. whole
// is the shard with the levels of the run.
func joinRun(all []*rankShard, whole *rankShard, sources *sourceNames) (run *export.Run, lost []string) {
	first := all[0].Reader.Run()
	run = &export.Run{Version: first.Version, ServiceKind: first.ServiceKind, Endpoint: first.Endpoint, Extra: first.Extra}
	n := &notes{}
	for i := range whole.Reader.Run().Experiments {
		run.Experiments = append(run.Experiments, joinLevel(&whole.Reader.Run().Experiments[i], i, all, n))
	}
	m := *first.Meta
	run.Meta = &m
	m.Shard = nil
	m.StartNS, m.EndNS, m.Stamps, m.Pauses, m.Warnings, m.Interrupted = 0, 0, nil, nil, nil, ""
	m.Models, m.URLs, m.Telemetry = slices.Clone(m.Models), slices.Clone(m.URLs), nil
	var said []saying
	for _, s := range all {
		joinMeta(&m, metaOf(s), s.meta.Rank, s.clock)
		for _, w := range metaOf(s).Warnings {
			said = append(said, saying{s.meta.Rank, w})
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
	m.Warnings = ofRanks(said, len(all))
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

// A saying is a warning of a rank.
type saying struct {
	rank int
	text string
}

// ofRanks returns the texts with the ranks that said them, each text once. n is the number of
// all ranks.
func ofRanks(said []saying, n int) []string {
	var texts []string
	ranks := map[string][]int{}
	for _, s := range said {
		if ranks[s.text] == nil {
			texts = append(texts, s.text)
		}
		if !slices.Contains(ranks[s.text], s.rank) {
			ranks[s.text] = append(ranks[s.text], s.rank)
		}
	}
	for i, text := range texts {
		who := ranks[text]
		switch {
		case len(who) == n && n > 1:
			texts[i] += fmt.Sprintf(" (all %s ranks)", plural.Grouped(n))
		case len(who) == 1:
			texts[i] += " (rank " + strconv.Itoa(who[0]) + ")"
		default:
			texts[i] += " (" + rankNames(who[:min(len(who), maxNamed)], len(who)) + ")"
		}
	}
	return texts
}

var rankSuffix = regexp.MustCompile(` \((?:rank \d+|ranks [\d, and…]+(?: \([\d,]+ ranks\))?|all [\d,]+ ranks)\)$`)

// CutRanks returns a warning of a merged run without its ranks, and the ranks as they follow
// the text: " (rank 2)"; "" for a warning without ranks.
func CutRanks(warning string) (text, ranks string) {
	if at := rankSuffix.FindStringIndex(warning); at != nil {
		return warning[:at[0]], warning[at[0]:]
	}
	return warning, ""
}
