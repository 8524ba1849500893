package foreign

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/internal/jsonfile"
)

// A keptLevel compares the number of requests of a level that the file holds with the number that
// the file states.
type keptLevel struct {
	kept, stated int64   // numbers of requests; stated is −1 if the file does not state it
	rate         float64 // stated requests/s; NaN if unknown
}

// partial reports whether the level lacks requests that the file counts.
func (k keptLevel) partial() bool { return k.kept < k.stated }

// why says how many requests are kept.
func (k keptLevel) why() string {
	return fmt.Sprintf("the file keeps %s of %s", plural.Grouped(k.kept), plural.GroupedOf(k.stated, "request"))
}

// whyRest says why figures that the file states were not compared with its requests.
func (k keptLevel) whyRest() string {
	if k.partial() {
		return "they are of all requests, and " + k.why()
	}
	return "pa-analyze cannot compute them from the requests"
}

// lackRequests notes in run that its file does not keep all requests of its levels. The kept
// requests do not give the rates of the run, so rates have no value. The warning names the rates
// that the file states.
func lackRequests(run *export.Run, levels []keptLevel) {
	var sum keptLevel
	var rates []string
	for i, k := range levels {
		sum.kept += k.kept
		sum.stated += max(k.stated, k.kept)
		if !math.IsNaN(k.rate) {
			rate := strconv.FormatFloat(k.rate, 'g', 4, 64) + " requests/s"
			if len(levels) > 1 {
				e := &run.Experiments[i]
				rate += strings.TrimRight(" at "+strings.ReplaceAll(e.Mode, "_", " ")+" "+e.Value, " ")
			}
			rates = append(rates, rate)
		}
	}
	if !sum.partial() { // no level is: each adds at least what it keeps
		return
	}
	why := sum.why()
	warning := why + ": latencies are of the requests that it keeps, and rates and shares of all requests are n/a"
	const most = 8 // levels that the message names
	switch {
	case len(rates) == 1:
		why += "; it states " + rates[0]
		warning += "; it states " + rates[0]
	case len(rates) > 1:
		warning += "; it states " + strings.Join(rates[:min(len(rates), most)], ", ")
	}
	run.Meta.Import.Lacks = append(run.Meta.Import.Lacks, export.Lack{Part: export.PartRequests, Why: why})
	run.Meta.Warnings = append(run.Meta.Warnings, warning)
}

// countElements moves c past the array at Pos and returns the number of its elements.
func countElements(c *jsonfile.Cursor) (int64, error) {
	c.Pos++
	for n := int64(0); ; n++ {
		more, err := c.Elem(n == 0)
		if err != nil || !more {
			return n, err
		}
		if err := skip(c); err != nil {
			return n, err
		}
	}
}

// countText returns how often pattern is in the file.
func (f *file) countText(pattern string) (n int64, err error) {
	buf := make([]byte, jsonfile.DefaultChunk)
	kept := 0 // bytes of the last chunk in front, in which a pattern may begin
	for at := int64(0); at < f.size; {
		if err := context.Cause(f.ctx); err != nil {
			return n, err
		}
		got, err := f.src.ReadAt(buf[kept:min(int64(len(buf)), int64(kept)+f.size-at)], at)
		if got == 0 {
			return n, fmt.Errorf("read %s at byte %d: %w", f.name, at, err)
		}
		at += int64(got)
		b := buf[:kept+got]
		n += int64(bytes.Count(b, []byte(pattern)))
		kept = copy(buf, b[max(0, len(b)-len(pattern)+1):])
	}
	return n, nil
}
