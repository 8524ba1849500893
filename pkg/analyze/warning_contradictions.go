package analyze

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// countWarnings returns warnings about numbers of requests that the header of e states and that the
// requests of the level, which counts holds, contradict. No figure is computed from the stated numbers.
func countWarnings(e *export.Experiment, counts *export.RequestCounts) []error {
	m := e.Meta
	if m == nil || m.Unreadable > 0 {
		return nil
	}
	var all []error
	for _, d := range counts.Differences(&m.RequestCounts) {
		if d.Stated == 0 { // the header leaves such numbers out
			continue
		}
		all = append(all, &Warning{Kind: KindContradiction, Sub: d.What, text: fmt.Sprintf(
			"the header counts %s %s, and the file holds %s; all figures are computed from the requests in the file: it lost or gained requests after it was written",
			plural.Grouped(int64(d.Stated)), d.What, plural.Grouped(int64(d.Held)))})
	}
	return all
}

// checkClient returns the figures of the recorder about itself that agree with each other, and warnings about the
// others. m holds only figures that can be true, as [export.ClientMeta.Possible] returns them. merged says that
// they are of several ranks.
func checkClient(m *export.ClientMeta, merged bool) (*export.ClientMeta, []error) {
	if m == nil {
		return nil, nil
	}
	var all []error
	kept := *m
	refuse := func(format string, args ...any) {
		all = append(all, &Warning{Kind: KindContradiction, Sub: "client", text: fmt.Sprintf(format, args...) + "; the figure is left out: the header was changed after it was written"})
	}
	// The figures of several ranks are of several machines.
	if c := m.CPU; c != nil && !merged && m.DurationNS > 0 {
		wall, used := float64(m.DurationNS)*float64(c.Cores), float64(c.UserNS)+float64(c.SystemNS)
		switch share := min(used/wall, 1); {
		case used > wall*mostCPUShare+float64(accountingTicks):
			refuse("the client states %v of CPU time in %v on %s, which cannot be", time.Duration(used), time.Duration(m.DurationNS), plural.Of(c.Cores, "core"))
			kept.CPU = nil
		case c.Share < share-shareError || c.Share > share+shareError:
			refuse("the client states that it took %.1f %% of its CPU time, and %v in %v on %s are %.1f %%",
				100*c.Share, time.Duration(used), time.Duration(m.DurationNS), plural.Of(c.Cores, "core"), 100*share)
			kept.CPU = nil
		}
	}
	return &kept, all
}

// Bounds of the CPU time that a client can state. The threads of a program that wait in the kernel may be more
// than its cores, and the kernel accounts for CPU time in ticks.
const (
	mostCPUShare    = 1.25
	accountingTicks = 100 * time.Millisecond
	shareError      = 0.001
)
