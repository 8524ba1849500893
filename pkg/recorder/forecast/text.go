package forecast

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder"
)

// MarshalJSON implements json.Marshaler. Numbers of things and bytes are whole.
func (f *Forecast) MarshalJSON() ([]byte, error) {
	whole := func(one recorder.Figure) recorder.Figure {
		one.Value = outward(one.Bound, one.Value, 1)
		return one
	}
	return json.Marshal(struct {
		Time         recorder.Figure `json:"time_s"`
		Requests     recorder.Figure `json:"requests"`
		InputTokens  recorder.Figure `json:"input_tokens"`
		OutputTokens recorder.Figure `json:"output_tokens"`
		Export       recorder.Figure `json:"export_bytes"`
		Journal      recorder.Figure `json:"journal_bytes"`
	}{f.Time, whole(f.Requests), whole(f.InputTokens), whole(f.OutputTokens), whole(f.Export), whole(f.Journal)})
}

// String returns the forecast on one line: what is known, then what is not, and why.
func (f *Forecast) String() string {
	type figure struct {
		name string
		recorder.Figure
		text string
	}
	figures := []figure{
		{"time", f.Time, RoundedTime(boundTime(f.Time))},
		{"requests", f.Requests, amount(f.Requests, "request")},
		{"input tokens", f.InputTokens, amount(f.InputTokens, "input token")},
		{"output tokens", f.OutputTokens, amount(f.OutputTokens, "output token")},
		{"export", f.Export, Bytes(f.Export.Value) + " of export"},
	}
	var known, reasons []string
	missing := map[string][]string{} // names of unknown figures by reason
	for _, one := range figures {
		switch {
		case !one.Known():
			if missing[one.Basis] == nil {
				reasons = append(reasons, one.Basis)
			}
			missing[one.Basis] = append(missing[one.Basis], one.name)
		case one.Bound == recorder.Exact:
			known = append(known, one.text)
		default:
			known = append(known, one.Bound.String()+" "+one.text)
		}
	}
	text := strings.Join(known, ", ")
	for i, reason := range reasons {
		if text != "" {
			text += "; "
		}
		if i == 0 {
			text += "unknown: "
		}
		text += andList(missing[reason]) + " (" + reason + ")"
	}
	if f.runs > 1 {
		text += " (" + plural.All(f.runs) + " runs)"
	}
	if f.ofRank {
		text += " (of this rank)"
	}
	return text
}

// MaxSeconds is the longest time that a time.Duration holds.
const MaxSeconds = float64(math.MaxInt64 / int64(time.Second))

// andList returns "a", "a and b", "a, b and c".
func andList(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// outward rounds a value to a multiple of step: a bound never to the side on which it is none.
func outward(bound recorder.Bound, v, step float64) float64 {
	const floatError = 1e-9 // of a product
	v /= step
	switch bound {
	case recorder.AtMost:
		v = math.Ceil(v * (1 - floatError))
	case recorder.AtLeast:
		v = math.Floor(v * (1 + floatError))
	default:
		v = math.Round(v)
	}
	return v * step
}

// boundTime returns a time, rounded to what RoundedTime shows of it.
func boundTime(f recorder.Figure) time.Duration {
	step := time.Second
	if f.Value < 9.95 {
		step /= 10
	}
	return time.Duration(outward(f.Bound, min(f.Value, MaxSeconds)/step.Seconds(), 1)) * step
}

// amount returns a number of things for people: all digits where it is exact or below 10,000, else three of them, or the
// thousands of an estimate.
func amount(f recorder.Figure, one string) string {
	v := f.Value
	switch {
	case f.Bound == recorder.Exact && v < 1<<53 || v < 9999.5:
		return plural.GroupedOf(int64(outward(f.Bound, v, 1)), one)
	case v < 99_950 && f.Bound != recorder.About:
		return plural.GroupedOf(int64(outward(f.Bound, v, 100)), one)
	case v < 999_500 || v < 1e6 && f.Bound == recorder.AtLeast:
		return plural.GroupedOf(int64(outward(f.Bound, v, 1000)), one)
	case v < 9.995e6:
		return ThreeDigits(outward(f.Bound, v/1e4, 1)/100) + " M " + one + "s"
	case v < 99.95e6:
		return ThreeDigits(outward(f.Bound, v/1e5, 1)/10) + " M " + one + "s"
	}
	return plural.Grouped(int64(outward(f.Bound, v/1e6, 1))) + " M " + one + "s"
}

// Bytes returns a number of bytes for people: "900 MB".
func Bytes(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}} {
		if v >= 0.9995*unit.size {
			return ThreeDigits(v/unit.size) + " " + unit.name
		}
	}
	return ThreeDigits(v/1e3) + " kB"
}

// ThreeDigits formats a number with three significant digits, or as a whole number.
func ThreeDigits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// BriefTime formats the whole seconds of a span for people: "12 s", "3m05s", "2h00m".
func BriefTime(d time.Duration) string {
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// RoundedTime formats a span as BriefTime does, but rounded, and with tenths of a second below 10 s.
func RoundedTime(d time.Duration) string {
	if tenths := d.Round(time.Second / 10); tenths < 10*time.Second {
		return strconv.FormatFloat(tenths.Seconds(), 'f', -1, 64) + " s"
	}
	return BriefTime(d.Round(time.Second))
}

// BoundedTime formats a span, perhaps as the longest one.
func BoundedTime(d time.Duration, atMost bool) string {
	if atMost {
		return "at most " + BriefTime(d)
	}
	return BriefTime(d)
}
