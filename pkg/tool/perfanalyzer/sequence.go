package perfanalyzer

import (
	"cmp"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/pawindow"
)

// sequences are the sequences of a load level: requests to a stateful model that
// belong together. An export does not mark the last request of a sequence, so
// count infers it.
type sequences struct{ byID map[uint64]*sequence }

// A sequence is the part of a sequence that the file has.
type sequence struct {
	firstNS, lastNS uint64 // starts of its first and of its last request
	endNS           uint64 // end of its last request
	window          int    // the window of this end; -1 for none, or if it does not count
	requests        int
}

// add counts a request that ended in that window.
func (s *sequences) add(r *export.Request, window int) {
	if s.byID == nil {
		s.byID = map[uint64]*sequence{}
	}
	q := s.byID[r.SequenceID]
	if q == nil {
		q = &sequence{firstNS: r.StartNS}
		s.byID[r.SequenceID] = q
	}
	q.requests++
	q.firstNS = min(q.firstNS, r.StartNS)
	if r.StartNS >= q.lastNS {
		q.lastNS, q.window = r.StartNS, window
		if ns, ok := r.FinalResponseNS(); ok {
			q.endNS = ns
		} else {
			q.endNS = r.FailedNS // it failed
		}
	}
}

// count adds to the windows the sequences that ended in them.
//
// A slot that ends a sequence begins another one. After as many sequences as there
// are slots, each one that begins therefore shows that another has ended. The last
// sequences may have been cut off by the end of the measurement: such a sequence
// counts if it is no shorter than one that ended.
func (s *sequences) count(windows []pawindow.Stats) {
	all := make([]*sequence, 0, len(s.byID))
	for _, q := range s.byID {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *sequence) int { return cmp.Compare(a.endNS, b.endNS) })
	begins := make([]uint64, 0, len(all))
	for _, q := range all {
		begins = append(begins, q.firstNS)
	}
	slices.Sort(begins)
	shortest := 0
	var left []*sequence
	next := 0
	for _, q := range all {
		for next < len(begins) && begins[next] < q.endNS {
			next++ // it ran beside this one
		}
		if next == len(begins) {
			left = append(left, q)
			continue
		}
		next++
		if shortest == 0 || q.requests < shortest {
			shortest = q.requests
		}
		ended(windows, q)
	}
	for _, q := range left {
		if q.requests >= shortest {
			ended(windows, q)
		}
	}
}

func ended(windows []pawindow.Stats, q *sequence) {
	if q.window >= 0 {
		windows[q.window].Sequences++
	}
}
