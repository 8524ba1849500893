package analyze

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze/quality"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// Every field of a Point survives packing but its Place and SettledNS, which the store sets.
func TestPackPoint(t *testing.T) {
	t.Parallel()
	all := make([]Point, 4)
	testenv.Fill(t, &all[0], "stream", "prompt", "session") // which are used before
	all[0].Place, all[0].SettledNS = 0, 0
	all[2] = all[0] // an answer with one choice
	all[2].TokenNS = []uint64{5, 8, 20, 21}
	all[2].GapNS, all[2].Gaps = all[2].TokenNS[1:], []int64{3, 12, 1}
	all[3] = all[2]
	all[3].Gaps = []int64{3, 12, 2} // do not follow
	var p spool.Packer
	for range 2 {
		for i := range all {
			all[i].pack(&p)
		}
	}
	u := pointUnpacker{Unpacker: spool.Unpacker{Bytes: p.Bytes}}
	for i := range 2 * len(all) {
		var got Point
		if u.unpack(&got); !reflect.DeepEqual(got, all[i%len(all)]) {
			t.Errorf("%d: %+v, want %+v", i, got, all[i%len(all)])
		}
	}
	if len(u.Bytes) > 0 {
		t.Errorf("%d bytes left", len(u.Bytes))
	}
}

// A followed keeps nothing of what it follows.
type followed struct{ requests, steps int }

func (f *followed) Begin(*export.Run)   {}
func (f *followed) Request(int, *Point) { f.requests++ }
func (f *followed) Step(int, Step)      { f.steps++ }

// A request that is read again takes its place in the order of time, and is in the file beyond the limit.
func TestMemoryOfPoints(t *testing.T) {
	testenv.NoRace(t)
	for name, cfg := range map[string]Config{
		"windows":  {Windows: Windows{Every: time.Second}},
		"part":     {Selection: Selection{TrimStart: Trim{Share: 0.1}}},
		"follower": {Follower: &followed{}},
		"quality":  {Quality: new(quality.Default())},
	} {
		most := 40.0
		if cfg.Quality != nil { // beside requests that may have been streamed, their latencies are kept
			most = 120
		}
		cfg.ValueMemory = 400e3
		for _, responses := range []int{0, 1, 3} {
			each := memrun.HeldByEach(func(n int) (bytes uint64) {
				r := memrun.NewGenerated(n, responses, func() { bytes = memrun.HeapInUse() })
				rep, err := Run(t.Context(), r, cfg)
				if err != nil || rep.Requests != n || rep.Experiments[0].Problem != nil {
					t.Fatal(rep, err)
				}
				return bytes
			})
			if each > most {
				t.Errorf("%s: a request of %d responses takes %.0f bytes, want at most %.0f", name, responses, each, most)
			}
		}
	}
}

// Figures are the same to the last digit if the requests and the values of a window do not fit in memory.
func TestPointsBeyondMemory(t *testing.T) {
	testenv.NoRace(t)
	t.Parallel()
	for name, cfg := range map[string]Config{
		"windows":    {Windows: Windows{Every: 100 * time.Millisecond}},
		"one window": {Windows: Windows{Every: time.Hour}},
		"part":       {Selection: Selection{Window: &Interval{From: 50 * time.Millisecond, To: 300 * time.Millisecond}}, Series: true},
		"both":       {Windows: Windows{Every: 100 * time.Millisecond}, Selection: Selection{TrimEnd: Trim{Share: 0.2}}, Quality: new(quality.Default())},
	} {
		analyzed := func(memory int64) *Report {
			cfg := cfg
			cfg.ValueMemory = memory
			rep, err := Run(t.Context(), newRepeated(500), cfg)
			if err != nil || len(rep.Warnings) > 0 {
				t.Fatal(rep.Warnings, err)
			}
			return rep
		}
		want, got := analyzed(1e9), analyzed(10e3)
		if want.Experiments[0].Metric(answer.ITL).N == 0 || !reflect.DeepEqual(got.Experiments, want.Experiments) {
			t.Errorf("%s: other figures", name)
		}
	}
}

// Each point says before which time no later gap ends, unless a gap of the level ends before its request.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ends [][]uint64 // of the gaps of points that are placed at 10, 20, 30
		want []uint64
	}{
		{"after the requests", [][]uint64{{12, 40}, nil, {30, 31}}, []uint64{10, 20, 30}},
		{"before its own request", [][]uint64{{12, 40}, {25, 19}, {30, 31}}, []uint64{0, 0, 0}},
	} {
		s := pointStore{records: spool.Records{Blocks: spool.NewBlocks(0, "", "points")}}
		for i, ends := range tt.ends {
			p := Point{GapNS: ends}
			p.PlaceNS = uint64(10 * (i + 1))
			s.add(&p)
		}
		s.sort()
		var got []uint64
		s.each(func(p *Point) bool {
			got = append(got, p.SettledNS)
			return true
		})
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
