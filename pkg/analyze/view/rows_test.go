package view

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/export"
)

// manyRequests returns the requests of a level, some of them failed; the request slow is slow, and stalled stalls.
func manyRequests(rng *rand.Rand, n, failures int, from uint64) []export.Request {
	var all []export.Request
	at := from
	for i := range n {
		at += rng.Uint64N(2e6)
		first := at + 1e6 + rng.Uint64N(1e6)
		q := memrun.At(at, first, first+1e6, first+2e6, first+3e6)
		q.HasMeta, q.Status = true, export.StatusOK
		q.ID = from + uint64(i)
		if i < failures {
			q = export.Request{HasMeta: true, ID: q.ID, StartNS: at, FailedNS: at + 5e5, Status: export.StatusTimeout}
		}
		all = append(all, q)
	}
	rng.Shuffle(n, func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all
}

// Above the limit, rows are every failure, the worst of everything, and a sample that is even over time. The
// same file gives the same rows.
func TestSampling(t *testing.T) {
	const rows = 1000
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var levels [][]export.Request
		failures := 0
		at := uint64(1e9)
		for range rng.IntN(4) + 1 {
			failed := rng.IntN(60)
			failures += failed
			levels = append(levels, manyRequests(rng, rng.IntN(6000)+300, failed, at))
			at += 1e12
		}
		stalled := &levels[0][slices.IndexFunc(levels[0], func(q export.Request) bool { return len(q.Responses) > 0 })]
		for i := range 2 {
			stalled.Responses[2+i].RecvNS += 50e6
		}
		stalled.Message = "stalled"
		cfg := Config{Rows: rows, Stalls: quality.Stalls{ThresholdNS: 10e6, Factor: 2}}
		run := collect(t, memrun.New("", levels...), cfg)
		check(t, run, rows)
		kept, seen := 0, map[string]bool{}
		for i := range run.Levels {
			l := &run.Levels[i]
			for k := range l.Requests {
				if r := l.Requests[k]; r.Excluded == "failed" {
					kept++
				} else if len(r.Stalls) > 0 {
					seen["stall"] = true
				}
			}
		}
		if kept != failures || !seen["stall"] {
			t.Errorf("seed %d: %d failures of %d, stall %v", seed, kept, failures, seen)
		}
		for i := range run.Levels {
			checkWorst(t, &run.Levels[i], levels[i])
			checkEven(t, &run.Levels[i])
		}
		total := 0
		for i := range run.Levels {
			total += len(run.Levels[i].Requests)
		}
		want := rows * 9 / 10 // rows that are equal at a limit go together
		if run.Report.Requests <= 2*rows {
			want = run.Report.Requests
		}
		if total < want {
			t.Errorf("seed %d: only %d rows of %d", seed, total, rows)
		}
		again := collect(t, memrun.New("", levels...), cfg)
		for i := range run.Levels {
			if !reflect.DeepEqual(run.Levels[i].Requests, again.Levels[i].Requests) {
				t.Errorf("seed %d: level %d differs the second time", seed, i)
			}
		}
	}
}

// checkWorst checks that the request with the longest E2EL is kept.
func checkWorst(t *testing.T, l *Level, all []export.Request) {
	t.Helper()
	longest := int64(0)
	for i := range all {
		if end, ok := all[i].LatestResponseNS(); ok {
			longest = max(longest, int64(end-all[i].StartNS))
		}
	}
	if !slices.ContainsFunc(l.Requests, func(r *Request) bool { return r.E2ELNS == longest }) {
		t.Errorf("no request with an E2EL of %d", longest)
	}
}

// checkEven checks that each tenth of the level's time has a part of the rows.
func checkEven(t *testing.T, l *Level) {
	t.Helper()
	if l.LeftOut == 0 {
		return
	}
	var tenths [10]int
	for i := range l.Requests {
		tenths[min(9, (l.Requests[i].BeginNS()-l.FromNS)*10/(l.ToNS-l.FromNS))]++
	}
	for i, n := range tenths {
		if n < len(l.Requests)/20 {
			t.Errorf("tenth %d has %d of %d rows", i, n, len(l.Requests))
		}
	}
}

// More failures than rows: a sample of them, and a tenth is left for other requests.
func TestManyFailures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	run := collect(t, memrun.New("", manyRequests(rng, 3000, 2000, 1e9)), Config{Rows: 100})
	check(t, run, 100)
	l := &run.Levels[0]
	failed := 0
	for i := range l.Requests {
		if l.Requests[i].Excluded == "failed" {
			failed++
		}
	}
	if failed != 90 || len(l.Requests) < 95 {
		t.Errorf("%d failures of %d rows", failed, len(l.Requests))
	}
	want := fmt.Sprintf("%d of 3,000 requests are shown: 90 of 2,000 failures, the longest stalls, the slowest TTFT and E2EL and a sample of the others that is even over time.", len(l.Requests))
	if l.Sampling != want || l.LeftOut != 3000-len(l.Requests) {
		t.Errorf("%d left out: %q, want %q", l.LeftOut, l.Sampling, want)
	}
}

func TestShares(t *testing.T) {
	for _, tt := range []struct {
		want []int
		n    int
		got  []int
	}{
		{nil, 5, []int{}},
		{[]int{3, 1, 9}, 100, []int{3, 1, 9}},
		{[]int{30, 1, 9}, 20, []int{10, 1, 9}},
		{[]int{30, 30, 30}, 10, []int{3, 3, 4}},
		{[]int{5, 5}, 0, []int{0, 0}},
	} {
		if got := shares(tt.want, tt.n); !slices.Equal(got, tt.got) {
			t.Errorf("shares(%v, %d) = %v, want %v", tt.want, tt.n, got, tt.got)
		}
	}
}

// nth gives what sorting gives, with equal values, sorted ones, and orders that make halving slow.
func TestNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 1; n < 2000; n = n*3/2 + 1 {
		for name, value := range map[string]func(i int) int64{
			"random": func(int) int64 { return rng.Int64() - 1<<62 },
			"few":    func(int) int64 { return rng.Int64N(3) },
			"equal":  func(int) int64 { return 5 },
			"up":     func(i int) int64 { return int64(i) },
			"down":   func(i int) int64 { return int64(-i) },
			"organ":  func(i int) int64 { return int64(min(i, n-i)) },
		} {
			values := make([]int64, n)
			for i := range values {
				values[i] = value(i)
			}
			sorted := slices.Sorted(slices.Values(values))
			for _, place := range []int{0, n / 3, n / 2, n - 1} {
				if got := nth(slices.Clone(values), place); got != sorted[place] {
					t.Errorf("%s: value %d of %d is %d, want %d", name, place, n, got, sorted[place])
				}
			}
		}
	}
}
