package forecast

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder"
)

// MarshalJSON implements json.Marshaler.
func (f *Forecast) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Time         recorder.Figure `json:"time_s"`
		Requests     recorder.Figure `json:"requests"`
		InputTokens  recorder.Figure `json:"input_tokens"`
		OutputTokens recorder.Figure `json:"output_tokens"`
		Export       recorder.Figure `json:"export_bytes"`
		Journal      recorder.Figure `json:"journal_bytes"`
	}{f.Time, f.Requests, f.InputTokens, f.OutputTokens, f.Export, f.Journal})
}

// String returns the forecast on one line: what is known, then what is not, and why.
func (f *Forecast) String() string {
	type figure struct {
		name string
		recorder.Figure
		text string
	}
	figures := []figure{
		{"time", f.Time, BriefTime(time.Duration(min(f.Time.Value, MaxSeconds) * float64(time.Second)))},
		{"requests", f.Requests, amount(f.Requests, "request")},
		{"input tokens", f.InputTokens, amount(f.InputTokens, "input token")},
		{"output tokens", f.OutputTokens, amount(f.OutputTokens, "output token")},
		{"export", f.Export, Bytes(f.Export.Value) + " of export"},
	}
	var known, whys []string
	missing := map[string][]string{}
	for _, one := range figures {
		switch {
		case !one.Known():
			if missing[one.Basis] == nil {
				whys = append(whys, one.Basis)
			}
			missing[one.Basis] = append(missing[one.Basis], one.name)
		case one.Bound == recorder.Exact:
			known = append(known, one.text)
		default:
			known = append(known, one.Bound.String()+" "+one.text)
		}
	}
	text := strings.Join(known, ", ")
	for i, why := range whys {
		switch {
		case i > 0 || text != "":
			text += "; no "
		default:
			text += "no "
		}
		text += orList(missing[why]) + ": " + why
	}
	if f.ofRank {
		text += " (of this rank)"
	}
	return text
}

// MaxSeconds is the longest time that a time.Duration holds.
const MaxSeconds = float64(math.MaxInt64 / int64(time.Second))

// orList returns "a", "a or b", "a, b or c".
func orList(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// amount returns a number of things for people: all digits where it is exact or below 10,000, else
// three of them.
func amount(f recorder.Figure, one string) string {
	v := math.Round(f.Value)
	switch {
	case f.Bound == recorder.Exact && v < 1<<53 || v < 9999.5:
		return plural.GroupedOf(int64(v), one)
	case v < 999_500:
		return plural.GroupedOf(int64(math.Round(v/1000)*1000), one)
	}
	return ThreeDigits(v/1e6) + " M " + one + "s"
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

// BriefTime formats a span for people: "12 s", "3m05s", "2h00m".
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

// BoundedTime formats a span, perhaps as the longest one.
func BoundedTime(d time.Duration, atMost bool) string {
	if atMost {
		return "at most " + BriefTime(d)
	}
	return BriefTime(d)
}
