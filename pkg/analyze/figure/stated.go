package figure

import (
	"slices"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

// A Stated holds rates over the duration that the file of another tool states, for a level whose requests do not give its rates. They are
// the tool's numbers divided by each other, and no rates of [Throughput].
type Stated struct{ Figures []Figure }

// The keys of the figures.
const (
	keyStatedDuration = "stated_duration_s"
	keyStatedRequests = "stated_requests_per_s"
	keyStatedOutput   = "stated_output_tokens_per_s"
	keyStatedTotal    = "stated_total_tokens_per_s"
)

// statedFigures are the figures of [Stated] without values, in the order of a report.
var statedFigures = [...]Figure{
	{Key: keyStatedDuration, Label: "duration that the file states", Unit: "s", Formula: "as the file states it"},
	{Key: keyStatedRequests, Label: "requests/s over the stated duration", Unit: "1/s", Formula: "successful requests / duration, both as the file states them"},
	{Key: keyStatedOutput, Label: "output tokens/s over the stated duration", Unit: "tokens/s", Formula: "output tokens / duration, both as the file states them"},
	{Key: keyStatedTotal, Label: "total tokens/s over the stated duration", Unit: "tokens/s", Formula: "(input tokens + output tokens) / duration, all as the file states them"},
}

// NewStated returns the rates of stated totals; nil if the file states no duration.
func NewStated(t *export.StatedTotals) *Stated {
	if t == nil || !t.Possible() {
		return nil
	}
	x := &Stated{Figures: slices.Clone(statedFigures[:])}
	x.Figures[0].Value = t.DurationS
	rate := func(i int, what string, counts ...*int64) {
		sum := int64(0)
		for _, n := range counts {
			if n == nil {
				x.Figures[i].Why = "the file states no number of " + what
				return
			}
			sum = stat.SaturatingAdd(sum, *n)
		}
		x.Figures[i].Value = float64(sum) / t.DurationS
	}
	rate(1, "successful requests", t.Requests)
	rate(2, "output tokens", t.OutputTokens)
	rate(3, "input and output tokens", t.InputTokens, t.OutputTokens)
	return x
}
