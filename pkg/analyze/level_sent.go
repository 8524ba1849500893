package analyze

import (
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// sentRequests counts the requests of a level, or of a part of it, that were sent to be
// measured.
type sentRequests struct {
	n           int
	first, last uint64  // starts
	perSecond   float64 // as the recorder measured it; 0 if it did not
}

// fewestStarts is the number of starts from which their rate is compared with the named one,
// if the file does not say when the first gap began.
const fewestStarts = 20

// add counts a request that started at startNS; 0 if that is unknown.
func (s *sentRequests) add(startNS uint64) {
	if startNS == 0 {
		return
	}
	if s.n == 0 || startNS < s.first {
		s.first = startNS
	}
	s.last = max(s.last, startNS)
	s.n++
}

// rate returns the rate of requests that were sent.
func (s *sentRequests) rate() figure.Rate {
	switch {
	case s.perSecond > 0:
		return figure.PerSecond(s.perSecond)
	case s.n < 2 || s.last <= s.first:
		return figure.Rate{}
	}
	return figure.PerSecond(float64(s.n-1) / (float64(s.last-s.first) / 1e9))
}

// namedRate returns the requests per second that a level of the run names, or the part of
// them that a rank's file names; 0 if it names none.
func namedRate(run *export.Run, e *export.Experiment) float64 {
	text := e.Value
	if e.Meta != nil && e.Meta.Share != nil && run.Meta != nil && run.Meta.Shard != nil {
		text = e.Meta.Share.Value
	}
	named, err := strconv.ParseFloat(text, 64)
	if e.Mode != export.ModeRequestRate || err != nil || !(named > 0) {
		return 0
	}
	return named
}

// warning returns the warning that a level whose analysis is x did not send the rate that it
// names; nil if it did, or if the recorder warned that requests were not sent.
func (s *sentRequests) warning(named float64, x *Experiment) error {
	if !x.Sent.OK || x.Selected != nil || s.perSecond == 0 && s.n < fewestStarts || slices.ContainsFunc(x.Warnings, isUnsent) {
		return nil
	}
	if w := export.SentWarning(named, x.Sent.PerSecond); w != "" {
		return sentWarning(w)
	}
	return nil
}
