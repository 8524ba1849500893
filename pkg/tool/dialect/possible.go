package dialect

import (
	"fmt"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A sieve keeps numbers that cannot be true from the analysis of a tool.
type sieve struct {
	bounds answer.Bounds
	wrong  int // requests with such a number
	first  string
}

// pass returns q without the numbers of tokens that cannot be true. ok is false for a request at a
// time that cannot be true, because no tool has figures for it.
func (s *sieve) pass(q *export.Request) (_ *export.Request, ok bool) {
	if what := s.wrongTime(q); what != "" {
		s.add(what)
		return nil, false
	}
	if q.Stated == nil {
		return q, true
	}
	var kept *export.Stated
	for i, n := range counts(q.Stated) {
		if *n == nil || answer.PossibleTokens(**n) {
			continue
		}
		if kept == nil {
			s.add(fmt.Sprintf("%d tokens", **n))
			kept = q.Stated.Clone()
		}
		*counts(kept)[i] = nil
	}
	if kept != nil {
		clean := *q
		clean.Stated = kept
		return &clean, true
	}
	return q, true
}

// counts returns the numbers of tokens and of token events of st.
func counts(st *export.Stated) [7]**int64 {
	return [...]**int64{&st.InputTokens, &st.OutputTokens, &st.ReasoningTokens, &st.CachedTokens, &st.TokenEvents, &st.CountedInput, &st.CountedOutput}
}

// wrongTime describes a time of q that cannot be true; "" if all can.
func (s *sieve) wrongTime(q *export.Request) string {
	last, _ := q.LatestResponseNS() // 0 for none, which can be true
	for _, t := range [...]uint64{answer.PlaceNS(q), q.FailedNS, last} {
		if !s.bounds.Time(t) {
			return fmt.Sprintf("the time %d", t)
		}
	}
	return ""
}

func (s *sieve) add(what string) {
	if s.wrong++; s.wrong == 1 {
		s.first = what
	}
}

// err says how many requests have a number that cannot be true; nil if none has.
func (s *sieve) err() error {
	if s.wrong == 0 {
		return nil
	}
	return fmt.Errorf("numbers in %s are impossible, such as %s: the figures leave them out", plural.GroupedOf(s.wrong, "request"), s.first)
}
