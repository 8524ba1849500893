package shards

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/plural"
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
	run   *export.Run // its header, of a client with its place among the clients
	meta  *export.ShardMeta
	clock clock
	// levels maps the shard's experiments to the run's experiments.
	levels []int
	seen   *Requests // of all shards
	index  int       // in seen
	// clients is the number of clients of the run; 0 for shards. The ids of clients are made different.
	clients int
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

// agree returns a *ConflictError unless all shards, which are in the order of ranks, are of
// one run and of different ranks.
func agree(all []*rankShard) error {
	first := all[0]
	for i, s := range all[1:] {
		for _, f := range [...]struct{ name, a, b, hint string }{
			{"run", first.meta.Run, s.meta.Run, ""},
			{"world_size", strconv.Itoa(first.meta.WorldSize), strconv.Itoa(s.meta.WorldSize), ""},
			{"plan_sha256", first.meta.PlanSHA256, s.meta.PlanSHA256, ", so their configuration, levels, seed, schedule or input data differ"},
			{"divided_by", first.meta.DividedBy, s.meta.DividedBy, ""},
			{"seed", strconv.FormatUint(metaOf(first).Seed, 10), strconv.FormatUint(metaOf(s).Seed, 10), ""},
			{"dataset_sha256", metaOf(first).DatasetSHA256, metaOf(s).DatasetSHA256, ""},
			{"repeat", repetition(first), repetition(s), ""},
		} {
			if f.a != f.b {
				return &ConflictError{first.Name, s.Name, f.name, fmt.Sprintf("%s is %q and %q%s", f.name, f.a, f.b, f.hint)}
			}
		}
		if before := all[i]; before.meta.Rank == s.meta.Rank {
			return &ConflictError{before.Name, s.Name, "rank", fmt.Sprintf("both are of rank %d; give one of them", s.meta.Rank)}
		}
	}
	return nil
}

func metaOf(s *rankShard) *export.RunMeta { return s.run.Meta }

// repetition names the shard's place in a series of runs; "" if there is no series.
func repetition(s *rankShard) string {
	r := metaOf(s).Repeat
	if r == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d of %d", r.Label, r.Index, r.Of))
}

// place sets levels of all shards, and returns the shard whose levels are the levels of the
// run: one with the most. A killed rank may have fewer. The error is a *ConflictError.
func place(all []*rankShard) (*rankShard, error) {
	whole := slices.MaxFunc(all, func(a, b *rankShard) int {
		return len(a.run.Experiments) - len(b.run.Experiments)
	})
	levels := whole.run.Experiments
	for _, s := range all {
		s.levels = nil
		next := 0
		own := s.run.Experiments
		for i := range own {
			for len(own) < len(levels) && next < len(levels) && !sameLoad(&own[i], &levels[next]) {
				next++
			}
			if next >= len(levels) || !sameLoad(&own[i], &levels[next]) {
				return nil, &ConflictError{whole.Name, s.Name, "schedule", fmt.Sprintf("level %d is %s in the first and %s in the second", i+1, loadName(&levels[i]), loadName(&own[i]))}
			}
			s.levels = append(s.levels, next)
			next++
		}
	}
	return whole, nil
}

// sameLoad reports whether two levels have the same mode and value; 10 equals 10.0.
func sameLoad(a, b *export.Experiment) bool {
	if a.Mode != b.Mode {
		return false
	}
	x, errX := strconv.ParseFloat(a.Value, 64)
	y, errY := strconv.ParseFloat(b.Value, 64)
	return a.Value == b.Value || errX == nil && errY == nil && x == y
}

// part returns the shard's part of level i of the run; nil if the shard has none.
func (s *rankShard) part(i int) *export.Experiment {
	if at := slices.Index(s.levels, i); at >= 0 {
		return &s.run.Experiments[at]
	}
	return nil
}

// share returns the share of a level's load that a shard states, from 0 to 1. ok is false if
// the shard states none, or an impossible one.
func share(e, part *export.Experiment) (value float64, ok bool) {
	if part.Meta == nil || part.Meta.Share == nil {
		return 0, false
	}
	whole, errWhole := strconv.ParseFloat(e.Value, 64)
	v, err := strconv.ParseFloat(part.Meta.Share.Value, 64)
	if errWhole != nil || err != nil || !(whole > 0) || !(v >= 0) || v > whole*(1+1e-9) || math.IsInf(whole, 0) {
		return 0, false
	}
	return v / whole, true
}

// ShareOf describes the part of the load that a single shard holds: "25 % of the load", or
// "from 12 % to 25 % of the load of its levels". It returns "" if the shard does not say.
func ShareOf(run *export.Run) string {
	low, high, n := math.Inf(1), math.Inf(-1), 0
	for i := range run.Experiments {
		if v, ok := share(&run.Experiments[i], &run.Experiments[i]); ok {
			low, high = min(low, v), max(high, v)
			n++
		}
	}
	switch {
	case n == 0 || n < len(run.Experiments):
		return ""
	case percent(low) == percent(high):
		return percent(low) + " of the load"
	}
	return fmt.Sprintf("from %s to %s of the load of its levels", percent(low), percent(high))
}

// A levelPart is a shard's part of a level.
type levelPart struct {
	rank  int
	clock clock
	host  string // name of the machine; "" if not known
	*export.Experiment
	meta export.ExperimentMeta
}

// idle reports whether the rank had nothing to send in the level.
func (p *levelPart) idle() bool {
	return len(p.WindowBoundaries) == 0 && p.meta.Measured+p.meta.Failed+p.meta.Late == 0
}

// low and high return the ends of the interval in which the offset of the clock lies.
func (c clock) low() int64 { return c.shiftNS - c.boundNS }

func (c clock) high() int64 { return c.shiftNS + c.boundNS }

// String returns the offset with its bound: "1 s ± 14.05 µs".
func (c clock) String() string {
	return fmt.Sprintf("%s ± %s", plural.Time(time.Duration(c.shiftNS)), plural.Time(time.Duration(c.boundNS)))
}
