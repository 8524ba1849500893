package report

import (
	"fmt"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// shardRows calls row with how a run was put together from shards, or which shard of a run a
// file is.
func shardRows(m *export.RunMeta, row func(name, value string)) {
	if s := m.Shard; s != nil && s.WorldSize > 1 {
		row("shard", fmt.Sprintf("rank %d of %s", s.Rank, plural.GroupedOf(s.WorldSize, "rank")))
	}
	s := m.Merged
	if s == nil {
		return
	}
	hosts := map[string]bool{}
	for i := range s.Shards {
		hosts[s.Shards[i].Host] = true
	}
	text := fmt.Sprintf("%s of %s", plural.Grouped(len(s.Shards)), plural.GroupedOf(s.WorldSize, "rank"))
	if !hosts[""] && len(hosts) > 0 {
		text += " on " + plural.GroupedOf(len(hosts), "machine")
	}
	switch {
	case len(s.Shards) < 2:
	case s.ClockBoundNS == nil:
		text += ", whose clocks were not all compared"
	default:
		bound := float64(*s.ClockBoundNS)
		text += ", clocks within " + RequestUnit([]float64{bound}).Span(bound)
	}
	row("shards", text)
	row("not merged", strings.Join(s.LeftOut, "; "))
}
