package analyze

import (
	"fmt"
	"math"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/analyze/summary"
	"github.com/pa-tools/pa/pkg/answer"
)

// A Hidden sums up the requests whose servers count output tokens before the first one that they sent,
// such as the reasoning of a model behind a parser that leaves it out. Their TTFT is the time to the
// first visible token, and their TPOT counts visible tokens.
type Hidden struct {
	Requests int     // requests with hidden tokens
	Mean     float64 // hidden tokens of such a request
}

// String returns "100 hidden before".
func (h *Hidden) String() string {
	return plural.Grouped(int64(math.Round(h.Mean))) + " hidden before"
}

// A hiddenCount counts measured requests with output tokens that no event carried.
type hiddenCount struct {
	requests int
	tokens   stat.IntSum
	// untimed counts the requests whose number of such tokens is not known.
	untimed int
}

func (h *hiddenCount) add(p *Point) {
	switch {
	case p.Untimed:
		h.untimed++
	case p.HiddenTokens.OK && p.HiddenTokens.V > 0:
		h.requests++
		h.tokens.Add(p.HiddenTokens.V)
	}
}

// summary returns the requests with a known number of hidden tokens; nil for none.
func (h *hiddenCount) summary() *Hidden {
	if h.requests == 0 {
		return nil
	}
	return &Hidden{h.requests, h.tokens.Div(h.requests)}
}

// howToTime says how to get the tokens of each event.
const howToTime = `in chats and completions, --extra-body '{"stream_options":{"include_usage":true,"continuous_usage_stats":true}}' makes vLLM and SGLang count the tokens of each event; --token-source responses counts events`

// unavailable returns TPOT if the level has none because of tokens that no event carried.
func (h *hiddenCount) unavailable(metrics []summary.Metric) []figure.Unavailable {
	if h.untimed == 0 || summary.Find(metrics, answer.TPOT) != nil {
		return nil
	}
	return []figure.Unavailable{{Key: answer.TPOT.Key(), Name: answer.TPOT.Label(), Why: figure.WhyUntimed}}
}

// warnings returns the warnings about output tokens that no event carried, of ok requests.
func (h *hiddenCount) warnings(ok int64) (w []error) {
	if h.requests > 0 {
		w = append(w, counted(KindTokenCount, "hidden", func(n []int64) string {
			return fmt.Sprintf("TTFT is the time to the first visible token (%s hidden before) in %s: the server counts tokens there that it did not send; TPOT counts the visible ones",
				plural.Grouped((n[2]+n[0]/2)/n[0]), ofRequests(n))
		}, int64(h.requests), ok, wholeOf(h.tokens)))
	}
	if h.untimed > 0 {
		w = append(w, counted(KindTokenCount, "untimed", func(n []int64) string {
			return ofRequests(n) + " had no TPOT: the server counts tokens that no event carried, because it hid them or held them back, or several with the first event, and does not say how many; " + howToTime
		}, int64(h.untimed), ok))
	}
	return w
}
