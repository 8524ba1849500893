package shards

import (
	"cmp"
	"fmt"
	"math"

	"github.com/pa-tools/pa/pkg/export"
)

// A Shard is an open file of one rank.
type Shard struct {
	Name   string // of the file, for messages
	Reader export.Reader
}

// MaxWorldSize is the largest number of ranks that is accepted.
const MaxWorldSize = 1 << 20

// maxOffsetNS is the largest difference of clocks that is accepted: 73 years.
const maxOffsetNS = 1 << 61

// Of returns the place of a file among the shards of its run; nil for a run of one process.
// It returns an error if the file names an impossible place.
func Of(s Shard) (*export.ShardMeta, error) {
	m := s.Reader.Run().Meta
	if m == nil || m.Shard == nil {
		return nil, nil
	}
	if err := Check(m.Shard); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	return m.Shard, nil
}

// Check returns an error if the place of a shard is impossible, such as a rank that is not
// below the number of ranks.
func Check(x *export.ShardMeta) error {
	wrong := ""
	switch {
	case x.WorldSize < 1 || x.WorldSize > MaxWorldSize:
		wrong = fmt.Sprintf("world_size %d is not from 1 to %d", x.WorldSize, MaxWorldSize)
	case x.Rank < 0 || x.Rank >= x.WorldSize:
		wrong = fmt.Sprintf("rank %d is not from 0 to %d, although world_size is %d", x.Rank, x.WorldSize-1, x.WorldSize)
	case x.Run == "":
		wrong = "run is empty"
	}
	for _, o := range []*export.ClockOffset{x.OffsetBefore, x.OffsetAfter} {
		switch {
		case wrong != "" || o == nil:
		case o.OffsetNS > maxOffsetNS || o.OffsetNS < -maxOffsetNS:
			wrong = fmt.Sprintf("offset_ns %d is more than 73 years", o.OffsetNS)
		case o.BoundNS < 0 || o.BoundNS > maxOffsetNS:
			wrong = fmt.Sprintf("bound_ns %d is not from 0 to 73 years", o.BoundNS)
		}
	}
	if wrong != "" {
		return fmt.Errorf("pa.shard: %s; the file is damaged or not from pa-record", wrong)
	}
	return nil
}

// A ConflictError reports two files that are not shards of one run.
type ConflictError struct {
	A, B  string // names of the files
	Field string // "run", "rank", "plan_sha256", …
	Text  string // how they differ
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s and %s are not shards of one run: %s", e.A, e.B, e.Text)
}

// A rankShard is a Shard with its place in the run.
type rankShard struct {
	Shard
	meta  *export.ShardMeta
	clock clock
	// levels maps the shard's experiments to the run's experiments.
	levels []int
	seen   *Requests // of all shards
	index  int       // in seen
}

func byRank(a, b *rankShard) int { return cmp.Compare(a.meta.Rank, b.meta.Rank) }

// A clock is the difference of a rank's clock to the clock of rank 0.
type clock struct {
	shiftNS int64 // is added to the shard's times
	boundNS int64 // of the error of shiftNS
	known   bool  // the clocks were compared
}

// clockOf returns the clock of a shard.
func clockOf(m *export.ShardMeta) clock {
	before, after := m.OffsetBefore, m.OffsetAfter
	switch {
	case m.Rank == 0:
		return clock{known: true}
	case before == nil && after == nil:
		return clock{}
	case after == nil:
		return clock{before.OffsetNS, before.BoundNS, true}
	case before == nil:
		return clock{after.OffsetNS, after.BoundNS, true}
	}
	low := min(before.OffsetNS-before.BoundNS, after.OffsetNS-after.BoundNS)
	high := max(before.OffsetNS+before.BoundNS, after.OffsetNS+after.BoundNS)
	c := clock{shiftNS: before.OffsetNS + (after.OffsetNS-before.OffsetNS)/2, known: true}
	c.boundNS = max(high-c.shiftNS, c.shiftNS-low)
	return c
}

// at returns the time on rank 0's clock at the time t of the shard. 0 and the largest value
// mean no time; at returns them unchanged.
func (c clock) at(t uint64) uint64 {
	if t == 0 || t == math.MaxUint64 {
		return t
	}
	if c.shiftNS < 0 {
		if back := uint64(-c.shiftNS); back < t {
			return t - back
		}
		return 1 // the earliest time that is not 0
	}
	return min(t, math.MaxUint64-1-uint64(c.shiftNS)) + uint64(c.shiftNS)
}

// shift moves all times of a request to rank 0's clock.
func (c clock) shift(r *export.Request) {
	if c.shiftNS == 0 {
		return
	}
	for _, t := range [...]*uint64{&r.ScheduledNS, &r.IssuedNS, &r.StartNS, &r.SentNS, &r.FirstByteNS, &r.FailedNS} {
		*t = c.at(*t)
	}
	for i := range r.Responses {
		r.Responses[i].RecvNS = c.at(r.Responses[i].RecvNS)
	}
}
