package shards_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// inMemory returns the shards with names.
func inMemory(all []*memrun.Reader) []shards.Shard {
	var out []shards.Shard
	for i, r := range all {
		out = append(out, shards.Shard{Name: fmt.Sprintf("shard%d", i), Reader: memrun.Again(r)})
	}
	return out
}

func TestDividedRunIsTheWhole(t *testing.T) {
	for seed := range 30 / uint64(testenv.Stride(5)) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(9)
		whole := memrun.RandomRun(rng, 1+rng.IntN(200), []string{"9", "18", "36"}[:1+rng.IntN(3)]...)
		var offsets []int64
		for range n {
			offsets = append(offsets, rng.Int64N(2e9)-1e9)
		}
		parts := memrun.Divide(whole, n, offsets...)
		for name, cfg := range runtest.Configs() {
			mixed := inMemory(parts)
			rng.Shuffle(n, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			merged, err := shards.Merge(mixed)
			if err != nil {
				t.Fatal(err)
			}
			if err := merged.Missing(); err != nil {
				t.Error(err)
			}
			got, want := runtest.Report(t, merged, cfg), runtest.Report(t, memrun.Again(whole), cfg)
			if got != want {
				t.Fatalf("seed %d, %d shards, %s:\n%s", seed, n, name, golden.FirstDifference([]byte(got), []byte(want)))
			}
		}
	}
}

// The requests of the merged run are the requests of the whole run, in the same order, and its
// series are the same.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	whole := memrun.RandomRun(rng, 300, "8", "16")
	merged, err := shards.Merge(inMemory(memrun.Divide(whole, 4, 0, 5_000_000_000, -7, 1)))
	if err != nil {
		t.Fatal(err)
	}
	want := memrun.Again(whole)
	for i := 0; want.Next(); i++ {
		if !merged.Next() {
			t.Fatalf("%d requests", i)
		}
		got := merged.Request().Clone()
		if got.Rank != int(got.ID%4) || merged.Experiment() != want.Experiment() {
			t.Fatalf("request %d: rank %d, experiment %d", got.ID, got.Rank, merged.Experiment())
		}
		got.Rank = 0
		if w := want.Request(); !reflect.DeepEqual(got, w) {
			t.Fatalf("got %+v, want %+v", got, w)
		}
	}
	if merged.Next() || merged.Request() != nil {
		t.Error("more requests")
	}
	got, want2 := series(t, whole), series(t, nil, inMemory(memrun.Divide(whole, 3))...)
	if !reflect.DeepEqual(got, want2) {
		t.Error("the series differ")
	}
}

func series(t *testing.T, r *memrun.Reader, all ...shards.Shard) (values []any) {
	t.Helper()
	var in export.Reader
	if r != nil {
		in = memrun.Again(r)
	} else {
		m, err := shards.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		in = m
	}
	rep, err := analyze.Run(t.Context(), in, analyze.Config{Series: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rep.Experiments {
		for _, p := range rep.Experiments[i].Series {
			values = append(values, p.ID, p.StartNS, p.EndNS, p.Place, p.InputHash, p.TTFT)
		}
		values = append(values, rep.Experiments[i].Steps)
	}
	return values
}

func TestConflicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	whole := memrun.RandomRun(rng, 20, "8", "16")
	for name, c := range map[string]struct {
		change func(all []*memrun.Reader)
		want   string
	}{
		"run":      {func(all []*memrun.Reader) { all[2].Header.Meta.Shard.Run = "r2" }, `shard0 and shard2 are not shards of one run: run is "r1" and "r2"`},
		"plan":     {func(all []*memrun.Reader) { all[1].Header.Meta.Shard.PlanSHA256 = "p2" }, `plan_sha256 is "p1" and "p2", so their configuration`},
		"size":     {func(all []*memrun.Reader) { all[1].Header.Meta.Shard.WorldSize = 5 }, `world_size is "3" and "5"`},
		"seed":     {func(all []*memrun.Reader) { all[1].Header.Meta.Seed = 8 }, `seed is "7" and "8"`},
		"dataset":  {func(all []*memrun.Reader) { all[1].Header.Meta.DatasetSHA256 = "x" }, `dataset_sha256 is "d5" and "x"`},
		"rank":     {func(all []*memrun.Reader) { all[2].Header.Meta.Shard.Rank = 1 }, "shard1 and shard2 are not shards of one run: both are of rank 1"},
		"schedule": {func(all []*memrun.Reader) { all[2].Header.Experiments[1].Value = "32" }, "level 2 is concurrency 16 in the first and concurrency 32 in the second"},
		"repeat": {func(all []*memrun.Reader) {
			for i := range all {
				all[i].Header.Meta.Repeat = &export.RepeatMeta{Index: 1 + i/2, Of: 2}
			}
		}, `repeat is "1 of 2" and "2 of 2"`},
	} {
		parts := memrun.Divide(whole, 3)
		c.change(parts)
		_, err := shards.Merge(inMemory(parts))
		var conflict *shards.ConflictError
		if !errors.As(err, &conflict) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHostile(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	whole := memrun.RandomRun(rng, 5, "8")
	for name, change := range map[string]func(s *export.ShardMeta){
		"rank 2 is not from 0 to 1":       func(s *export.ShardMeta) { s.Rank = 2 },
		"rank -1":                         func(s *export.ShardMeta) { s.Rank = -1 },
		"world_size 0":                    func(s *export.ShardMeta) { s.WorldSize = 0 },
		"world_size -4":                   func(s *export.ShardMeta) { s.WorldSize = -4 },
		"world_size 9000000000":           func(s *export.ShardMeta) { s.WorldSize = 9_000_000_000 },
		"run is empty":                    func(s *export.ShardMeta) { s.Run = "" },
		"bound_ns -1":                     func(s *export.ShardMeta) { s.OffsetAfter.BoundNS = -1 },
		"offset_ns -9223372036854775808 ": func(s *export.ShardMeta) { s.OffsetBefore.OffsetNS = -1 << 63 },
	} {
		parts := memrun.Divide(whole, 2)
		change(parts[1].Header.Meta.Shard)
		if _, err := shards.Merge(inMemory(parts)); err == nil || !strings.Contains(err.Error(), "shard1: pa.shard: "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := shards.Merge([]shards.Shard{{Name: "whole", Reader: memrun.Again(whole)}}); err == nil || !strings.Contains(err.Error(), "whole: has no member pa.shard") {
		t.Error(err)
	}
	if _, err := shards.Merge(nil); err == nil {
		t.Error("no shards are no error")
	}
	// A world of a million ranks is not listed, and extreme offsets do not wrap around.
	parts := memrun.Divide(whole, 2)
	for _, p := range parts {
		p.Header.Meta.Shard.WorldSize = shards.MaxWorldSize
	}
	far := parts[1].Header.Meta.Shard
	far.OffsetBefore.OffsetNS, far.OffsetAfter.OffsetNS = -1<<61, -1<<61
	m, err := shards.Merge(inMemory(parts))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Missing().Error(); !strings.Contains(got, "ranks 2, 3, 4, 5, 6, 7, 8, 9, … (1,048,574 ranks) of 1,048,576 are missing") {
		t.Error(got)
	}
	for m.Next() {
		if q := m.Request(); q.StartNS == 0 || q.StartNS > 1<<62 {
			t.Errorf("start %d", q.StartNS)
		}
	}
}

func TestMissingRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	whole := memrun.RandomRun(rng, 60, "16", "32")
	parts := memrun.Divide(whole, 4)
	m, err := shards.Merge(inMemory(slices.Delete(slices.Clone(parts), 2, 3)))
	if err != nil {
		t.Fatal(err)
	}
	want := "rank 2 of 4 is missing, with 25 % of the load: these figures are of the other ranks"
	if err := m.Missing(); err == nil || err.Error() != want {
		t.Errorf("missing: %v", err)
	}
	rep, err := analyze.Run(t.Context(), m, analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if w := analyze.AsWarning(rep.Warnings[0]); w.Kind != analyze.KindIncomplete || !strings.Contains(w.Error(), want) {
		t.Errorf("warning: %v", w)
	}
	// The slots of the missing rank are no users.
	e := &rep.Experiments[0]
	if got := e.Throughput.OutputTokens.PerSecond / e.Throughput.OutputTokensPerUser.PerSecond; got < 11.99 || got > 12.01 {
		t.Errorf("%v users, want 12", got)
	}
	for _, all := range m.Run().Experiments {
		if all.Meta.Share == nil || all.Meta.Share.Value != map[string]string{"16": "12", "32": "24"}[all.Value] {
			t.Errorf("share of %s: %+v", all.Value, all.Meta.Share)
		}
	}

	// One alone.
	rep, err = analyze.Run(t.Context(), memrun.Again(parts[1]), analyze.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if w := rep.Warnings[0].Error(); !strings.Contains(w, "this file is the shard of rank 1 of 4 ranks: 25 % of the load;") {
		t.Error(w)
	}

	// A rank that was killed before the second level.
	killed := memrun.Again(parts[3])
	killed.Header.Experiments = killed.Header.Experiments[:1]
	killed.Requests = killed.Requests[:1]
	cut := &export.CutError{Name: "shard3", Offset: 5, Where: "a batch"}
	killed.Failure = cut
	m, err = shards.Merge(append(inMemory(parts[:3]), shards.Shard{Name: "shard3", Reader: killed}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Missing(); err == nil || err.Error() != "rank 3 has no concurrency 32: its recording ended before" {
		t.Errorf("missing: %v", err)
	}
	n := 0
	for m.Next() {
		n++
	}
	lost := len(parts[3].Requests[1])
	if want := 120 - lost; n != want || !errors.Is(m.Err(), error(cut)) {
		t.Errorf("%d requests, want %d; error %v", n, want, m.Err())
	}
}

func TestLoadsOfLostRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	parts := memrun.Divide(memrun.RandomRun(rng, 20, "6", "9"), 4)
	m, err := shards.Merge(inMemory(parts[:2]))
	if err != nil {
		t.Fatal(err)
	}
	// 6 slots are 2, 2, 1, 1; 9 slots are 3, 2, 2, 2.
	want := "ranks 2 and 3 of 4 are missing, with 33.3 % of the load of concurrency 6 and 44.4 % of the load of concurrency 9: these figures are of the other ranks"
	if err := m.Missing(); err == nil || err.Error() != want {
		t.Errorf("missing: %v", err)
	}
	parts[0].Header.Experiments[0].Meta.Share = nil
	parts[0].Header.Experiments[1].Meta.Share.Value = "many"
	if m, err = shards.Merge(inMemory(parts[:2])); err != nil {
		t.Fatal(err)
	}
	if err := m.Missing(); err == nil || !strings.Contains(err.Error(), "50 % of the ranks (the shards do not state shares of the load)") {
		t.Errorf("missing: %v", err)
	}
}
