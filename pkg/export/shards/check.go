package shards

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/export"
)

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

func metaOf(s *rankShard) *export.RunMeta { return s.Reader.Run().Meta }

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
		return len(a.Reader.Run().Experiments) - len(b.Reader.Run().Experiments)
	})
	levels := whole.Reader.Run().Experiments
	for _, s := range all {
		s.levels = nil
		next := 0
		own := s.Reader.Run().Experiments
		for i := range own {
			for len(own) < len(levels) && next < len(levels) && !sameLoad(&own[i], &levels[next]) {
				next++
			}
			if next >= len(levels) || !sameLoad(&own[i], &levels[next]) {
				return nil, &ConflictError{whole.Name, s.Name, "schedule", fmt.Sprintf("level %d is %s %s in the first and %s %s in the second", i+1, levels[i].Mode, levels[i].Value, own[i].Mode, own[i].Value)}
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
		return &s.Reader.Run().Experiments[at]
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

// Missing returns an error that names the missing ranks, the missing levels of other ranks, and
// their share of the load; nil if nothing is missing.
func (r *Reader) Missing() error {
	if len(r.missing) == 0 {
		return nil
	}
	var all []error
	for _, text := range r.missing {
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// missing returns the texts of Missing.
func missing(all []*rankShard, levels []export.Experiment) []string {
	size := all[0].meta.WorldSize
	var lost []int
	next := 0
	for _, s := range all {
		for ; next < s.meta.Rank && len(lost) < maxNamed; next++ {
			lost = append(lost, next)
		}
		next = s.meta.Rank + 1
	}
	for ; next < size && len(lost) < maxNamed; next++ {
		lost = append(lost, next)
	}
	var texts []string
	if n := size - len(all); n > 0 {
		verb := "is"
		if n > 1 {
			verb = "are"
		}
		texts = append(texts, fmt.Sprintf("%s of %s %s missing, with %s: these figures are of the other ranks", rankNames(lost, n), plural.Grouped(size), verb, lostLoad(all, levels, n, size)))
	}
	for _, s := range all {
		var names []string
		for i := range levels {
			if !slices.Contains(s.levels, i) {
				names = append(names, levels[i].Mode+" "+levels[i].Value)
			}
		}
		if names != nil {
			texts = append(texts, fmt.Sprintf("rank %d has no %s: its recording ended before", s.meta.Rank, listed(names)))
		}
	}
	return texts
}

// maxNamed bounds how many ranks or levels a message names.
const maxNamed = 8

// rankNames returns "rank 2", "ranks 1 and 2" or "ranks 1, 2, 3, … (900 ranks)".
func rankNames(ranks []int, n int) string {
	if n == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var names []string
	for _, r := range ranks {
		names = append(names, strconv.Itoa(r))
	}
	if n > len(names) {
		return fmt.Sprintf("ranks %s, … (%s ranks)", strings.Join(names, ", "), plural.Grouped(n))
	}
	return "ranks " + listed(names)
}

// listed joins names with commas and "and"; it names at most maxNamed.
func listed(names []string) string {
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) > maxNamed:
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamed)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// lostLoad describes the load of n missing ranks among size: the part of each level that the
// shards do not have. A shard without the level counts as its unknown share.
func lostLoad(all []*rankShard, levels []export.Experiment, n, size int) string {
	var shares, texts []string
	for i := range levels {
		have, known := 0.0, true
		for _, s := range all {
			part := s.part(i)
			if part == nil {
				known = false
				break
			}
			v, ok := share(&levels[i], part)
			have, known = have+v, known && ok
		}
		if known {
			shares = append(shares, percent(1-min(have, 1)))
			texts = append(texts, fmt.Sprintf("%s of the load of %s %s", shares[len(shares)-1], levels[i].Mode, levels[i].Value))
		}
	}
	same := len(shares) > 0 && len(slices.Compact(slices.Clone(shares))) == 1
	switch {
	case same && len(shares) == len(levels):
		return shares[0] + " of the load"
	case len(shares) > 0:
		return listed(texts)
	}
	return fmt.Sprintf("%s of the ranks (the shards do not state shares of the load)", percent(float64(n)/float64(size)))
}

// percent formats a share as "25 %", with at most three digits.
func percent(share float64) string {
	return strconv.FormatFloat(100*share, 'g', 3, 64) + " %"
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
