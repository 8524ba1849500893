package resultfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// A KeptLevel compares the number of requests of a level that the file holds with the number that
// the file states.
type KeptLevel struct {
	Kept, Stated int64   // numbers of requests; Stated is −1 if the file does not state it
	Rate         float64 // stated requests/s; NaN if unknown
}

// Partial reports whether the level lacks requests that the file counts.
func (k KeptLevel) Partial() bool { return k.Kept < k.Stated }

// why says how many requests are kept.
func (k KeptLevel) why() string {
	return fmt.Sprintf("the file keeps %s of %s", plural.Grouped(k.Kept), plural.GroupedOf(k.Stated, "request"))
}

// WhyRest says why figures that the file states were not compared with its requests.
func (k KeptLevel) WhyRest() string {
	if k.Partial() {
		return "they are of all requests, and " + k.why()
	}
	return "pa-analyze cannot compute them from the requests"
}

// Total returns a stated number for [export.StatedTotals]; nil for a number that is no count.
func Total(v float64) *int64 {
	if !(v >= 0 && v < 1<<53) {
		return nil
	}
	return new(int64(math.Round(v)))
}

// StateTotals keeps the totals of each level in a run that lacks requests, or the times at which they were sent. Its rates are then
// only known over the duration that the file states.
func StateTotals(run *export.Run, levels []export.StatedTotals) {
	if _, lacks := run.Lacks(export.PartStarts); !lacks || !slices.ContainsFunc(levels, func(t export.StatedTotals) bool { return t.Possible() }) {
		return
	}
	for i := range levels {
		if !levels[i].Possible() { // NaN has no JSON
			levels[i] = export.StatedTotals{}
		}
	}
	run.Meta.Import.Totals = levels
}

// LackRequests notes in run which levels lack requests that the file counts. The kept requests do not give
// the rates of such a level, so its rates have no value. The warning names the rates that the file states.
func LackRequests(run *export.Run, levels []KeptLevel) {
	var sum KeptLevel
	var names, rates []string
	var lacks []export.Lack
	for i, k := range levels {
		if !k.Partial() {
			continue
		}
		e := &run.Experiments[i]
		name := export.LoadName(e.Mode, e.Value)
		names = append(names, name)
		sum.Kept += k.Kept
		sum.Stated += k.Stated
		lack := export.Lack{Part: export.PartRequests, Why: k.why(), Mode: e.Mode, Value: e.Value}
		if !math.IsNaN(k.Rate) {
			rate := strconv.FormatFloat(k.Rate, 'g', 4, 64) + " requests/s"
			lack.Why += "; it states " + rate
			if len(levels) > 1 {
				rate = strings.TrimRight(rate+" at "+name, " ")
			}
			rates = append(rates, rate)
		}
		lacks = append(lacks, lack)
	}
	if lacks == nil {
		return
	}
	const most = 8 // levels that the message names
	warning, whose := sum.why(), "all requests"
	if len(lacks) == len(levels) {
		why := sum.why()
		if len(rates) == 1 {
			why += "; it states " + rates[0]
		}
		lacks = []export.Lack{{Part: export.PartRequests, Why: why}}
	} else {
		warning += " of " + strings.Join(names[:min(len(names), most)], ", ")
		if len(names) > most {
			warning += " and " + plural.Of(len(names)-most, "other level")
		}
		if whose = "these levels"; len(names) == 1 {
			whose = "this level"
		}
	}
	warning += ": latencies are of the requests that it keeps, and rates and shares of " + whose + " are n/a"
	if len(rates) > 0 {
		warning += "; it states " + strings.Join(rates[:min(len(rates), most)], ", ")
	}
	run.Meta.Import.Lacks = append(run.Meta.Import.Lacks, lacks...)
	run.Meta.Warnings = append(run.Meta.Warnings, warning)
}
