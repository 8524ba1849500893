package analyze

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/answer"
)

// maxQuotedBytes bounds foreign text in a message.
const maxQuotedBytes = 200

// warnings returns the warnings about a level whose analysis is x.
func (c *collector) warnings(cfg Config, x *Experiment) []error {
	var w []error
	o, ok := &c.anomalies, int64(c.ok)
	// say adds a warning about n[0] things, if there are any.
	say := func(kind WarningKind, text func(n []int64) string, n ...int64) {
		if n[0] > 0 {
			w = append(w, counted(kind, text(make([]int64, len(n))), text, n...))
		}
	}
	// requests adds a warning about n of the successful requests.
	requests := func(kind WarningKind, n int, rest string) {
		say(kind, func(n []int64) string { return ofRequests(n) + rest }, int64(n), ok)
	}
	if c.ok == 0 {
		w = append(w, said(KindNothing, "no measured request succeeded, so there are no figures"))
	}
	for _, f := range x.Failed {
		class, first := f.Name, ""
		if m := c.messages[class]; m.text != "" {
			first = fmt.Sprintf("; the first message: %q", sanitize.Clip(m.text, maxQuotedBytes))
		}
		w = append(w, counted(KindFailed, class, func(n []int64) string {
			return ofRequests(n) + " failed: " + class + first
		}, int64(f.N), ok+int64(x.FailedRequests())))
	}
	requests(KindMissingTimes, o.noToken, " had no output in any response: they have an E2EL and no TTFT")
	say(KindTokenCount, func(n []int64) string {
		return "the file holds no outputs of " + plural.GroupedOf(n[0], "request") + ": each response counts as a token, an empty last one too"
	}, int64(o.assumed))
	requests(KindUnreadable, o.damaged, " have damaged derived columns, and the file lacks their outputs: they have an E2EL only, and token rates are n/a; pa-analyze convert makes the columns from the original file")
	requests(KindDropped, o.dropped-o.damaged, " lost their outputs because the recorder's disk was too slow: they have an E2EL only, and token rates are n/a; record to a faster disk")
	say(KindUnreadable, func(n []int64) string {
		what := " events or bodies"
		if n[0] == 1 {
			what = " event or body"
		}
		return plural.Grouped(n[0]) + what + " broke the protocol; they do not count as tokens"
	}, int64(o.unreadable))
	requests(KindMissingTimes, o.noFrom, fmt.Sprintf(" had no %q time recorded: no TTFT and no E2EL; choose another --from", cfg.From))
	requests(KindClock, o.unsent, fmt.Sprintf(" got a response before the last byte was sent, so times from %q are negative and left out; use --from start", cfg.From))
	requests(KindClock, o.early-o.unsent, fmt.Sprintf(" got a response before the %s: the clock was set back, or the times come from different clocks", cfg.From))
	say(KindClock, func(n []int64) string {
		return plural.Grouped(n[0]) + " of " + plural.GroupedOf(n[1], "gap") + " between tokens were below 0 and are left out: the clock was set back during the run"
	}, int64(o.backward), int64(o.gaps))
	say(KindClock, func(n []int64) string {
		return plural.GroupedOf(n[0], "time") + " of more than 292 years left out: the file is damaged"
	}, int64(o.impossible))
	w = append(w, c.impossible()...)
	say(KindNotStreamed, func(n []int64) string {
		return ofRequests(n) + " asked for a streamed answer and got a whole one, which has an E2EL and no TTFT, TTST, ITL or TPOT; check that the server and each proxy before it stream"
	}, int64(c.streams.ignored), ok)
	say(KindOther, func(n []int64) string {
		return ofRequests(n) + " got a streamed answer without asking for it; it is read as a stream"
	}, int64(c.streams.unasked), ok)
	if n := c.streams.not - c.streams.ignored; n < c.ok {
		requests(KindMissingTimes, n, " had an answer that was not streamed: they have an E2EL and no TTFT, TTST, ITL or TPOT")
	}
	if cfg.TokenSource != answer.TokenAuto {
		requests(KindTokenCount, o.noTokens, fmt.Sprintf(" had no number of tokens from %s: not in the token metrics; choose another --token-source", cfg.TokenSource))
	}
	if o.notCounted > 0 {
		w = append(w, counted(KindTokenCount, "not counted", func(n []int64) string {
			return ofRequests(n) + " had an output that the tokenizer could not count, so they have no output tokens and no TPOT, and token rates are n/a: " + c.refusal + "; check the tokenizer file"
		}, int64(o.notCounted), ok))
	}
	if x.TokenSource == answer.TokenMixed {
		w = append(w, c.mixture())
	}
	w = append(w, c.hidden.warnings(ok)...)
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts more tokens than it sent chunks in %s (%s tokens in %s chunks), so ITL is the time between chunks", ofRequests(n), plural.Grouped(n[2]), plural.Grouped(n[3]))
	}, int64(c.above.requests), ok, wholeOf(c.above.tokens), wholeOf(c.above.events))
	say(KindTokenCount, func(n []int64) string {
		return fmt.Sprintf("the server counts fewer tokens than it sent chunks of output in %s (%s tokens in %s chunks); --token-source responses counts chunks", ofRequests(n), plural.Grouped(n[2]), plural.Grouped(n[3]))
	}, int64(c.below.requests), ok, wholeOf(c.below.tokens), wholeOf(c.below.events))
	w = append(w, c.lengths.warnings()...)
	for _, u := range x.Unsteady {
		w = append(w, u)
	}
	if x.SLO != nil {
		w = append(w, sloWarnings(x.SLO)...)
	}
	return w
}

// mixture returns the warning that counts the requests by the source of their output
// tokens.
func (c *collector) mixture() error {
	return counted(KindTokenCount, "sources", func(n []int64) string {
		text := fmt.Sprintf("output tokens are counted in several ways: by the server's usage in %s, by the tokenizer in %s, by responses in %s", plural.GroupedOf(n[0], "request"), plural.Grouped(n[1]), plural.Grouped(n[2]))
		if n[3] > 0 {
			text += ", by what the file states in " + plural.Grouped(n[3])
		}
		return text + "; --token-source chooses one"
	}, int64(c.sources[answer.TokenUsage]), int64(c.sources[answer.TokenTokenizer]), int64(c.sources[answer.TokenResponses]), int64(c.sources[answer.TokenStated]))
}

// sloWarnings returns the warning about requests for which nothing decides whether they met the objective.
func sloWarnings(x *Attainment) []error {
	if x.Unknown == 0 {
		return nil
	}
	n := x.Met + x.Missed + x.Failed + x.Unknown
	lacking := x.Lacking[0].Name
	return []error{counted(KindSLO, lacking, func(n []int64) string {
		return ofRequests(n) + " had no " + lacking + ": whether they meet the SLO is unknown, so the share leaves them out"
	}, int64(x.Unknown), int64(n))}
}
