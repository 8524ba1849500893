package resultfile

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

// A KeptLevel compares the number of requests of a level that the file holds with the number that
// the file states.
type KeptLevel struct {
	Kept, Stated int64   // numbers of requests; stated is −1 if the file does not state it
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
		name := strings.TrimSpace(strings.ReplaceAll(e.Mode, "_", " ") + " " + e.Value)
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
			warning += fmt.Sprintf(" and %d other levels", len(names)-most)
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

// CountElements moves c past the array at Pos and returns the number of its elements.
func CountElements(c *jsonscan.Cursor) (int64, error) {
	c.Pos++
	for n := int64(0); ; n++ {
		more, err := c.Elem(n == 0)
		if err != nil || !more {
			return n, err
		}
		if err := Skip(c); err != nil {
			return n, err
		}
	}
}

// CountText returns how often pattern is in the file.
func (f *File) CountText(pattern string) (n int64, err error) {
	buf := make([]byte, jsonscan.DefaultChunk)
	kept := 0 // bytes of the last chunk in front, in which a pattern may begin
	for at := int64(0); at < f.size; {
		if err := context.Cause(f.ctx); err != nil {
			return n, err
		}
		got, err := f.Src.ReadAt(buf[kept:min(int64(len(buf)), int64(kept)+f.size-at)], at)
		if got == 0 {
			return n, fmt.Errorf("read %s at byte %d: %w", f.Name, at, err)
		}
		at += int64(got)
		b := buf[:kept+got]
		n += int64(bytes.Count(b, []byte(pattern)))
		kept = copy(buf, b[max(0, len(b)-len(pattern)+1):])
	}
	return n, nil
}
