package shards_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

func TestRequests(t *testing.T) {
	at := func(id, start uint64, rank int) export.Request {
		return export.Request{ID: id, StartNS: start, Rank: rank, HasMeta: true}
	}
	foreign := export.Request{StartNS: 5, Rank: 1} // without additions of pa-record
	for _, tt := range []struct {
		name  string
		files [][]export.Request // by rank
		want  string             // of the first error of Add
		err   string             // of End
	}{
		{"none", [][]export.Request{nil, nil}, "", ""},
		{"different", [][]export.Request{{at(1, 10, 0), at(3, 20, 0)}, {at(2, 10, 0), at(4, 21, 1)}}, "", ""},
		{"an id in both", [][]export.Request{{at(1, 10, 0), at(3, 20, 0)}, {at(2, 11, 1), at(3, 30, 1)}}, "request 3 is in both", "f0 and f1 hold the same requests, although they are of ranks 0 and 1: request 3 is in both"},
		{"an id in both, and no times", [][]export.Request{{at(7, 0, 0)}, nil, {at(7, 0, 0)}}, "of ranks 0 and 2", "f0 and f2"},
		{"ids far apart", [][]export.Request{{at(1<<63, 1, 0)}, {at(1<<63+1, 2, 0)}, {at(1<<63, 3, 0)}}, "request 9223372036854775808 is in both", "f0 and f2"},
		{"ids that are not known", [][]export.Request{{at(0, 10, 0)}, {at(0, 11, 0)}}, "", ""},
		{"another rank", [][]export.Request{nil, {at(2, 10, 1)}, {at(3, 11, 1)}}, "f2: request 3 says that rank 1 sent it, but pa.shard says that the file is of rank 2", "f2: request 3 says"},
		{"the rank of a request that is not ours", [][]export.Request{{foreign}}, "", ""},
		{"twice in one file", [][]export.Request{{at(1, 10, 0), at(1, 10, 0)}}, "request 1 is in the file twice", ""},
		{"the same times", [][]export.Request{{at(1, 10, 0), at(2, 20, 0)}, {at(5, 3, 1)}, {at(3, 20, 0), at(4, 10, 0)}}, "", "f0 and f2 hold the same requests, although they are of ranks 0 and 2: all 2 start at the same times"},
		{"one time by chance", [][]export.Request{{at(1, 10, 0)}, {at(2, 10, 1)}}, "", ""},
		{"the same times and one more", [][]export.Request{{at(1, 10, 0), at(2, 20, 0)}, {at(3, 10, 0), at(4, 20, 0), at(5, 30, 0)}}, "", ""},
	} {
		var x shards.Requests
		var first error
		for rank, all := range tt.files {
			file := x.File(fmt.Sprintf("f%d", rank), rank)
			for i := range all {
				if err := x.Add(file, &all[i]); err != nil && first == nil {
					first = err
				}
			}
		}
		for _, c := range []struct {
			got  error
			want string
		}{{first, tt.want}, {x.End(), tt.err}} {
			if (c.got != nil) != (c.want != "") || c.got != nil && (!strings.Contains(c.got.Error(), c.want) || !errors.Is(c.got, export.ErrContradiction)) {
				t.Errorf("%s: got %v, want %q", tt.name, c.got, c.want)
			}
		}
	}
}

// However far apart the ids are, the pages stay within their bound.
func TestRequestsMemory(t *testing.T) {
	q := export.Request{HasMeta: true}
	allocations := testing.AllocsPerRun(1, func() {
		var x shards.Requests
		file := x.File("f", 0)
		for i := range uint64(10_000) {
			q.ID = (i + 1) << 20
			if err := x.Add(file, &q); err != nil {
				t.Fatal(err)
			}
		}
	})
	if most := 4096 + 300.; allocations > most { // pages of 8 KiB, and the map
		t.Errorf("%v allocations, want at most %v", allocations, most)
	}
}

// A reader of copied shards ends with the error that names both, one request after the other and
// in batches.
func TestCopies(t *testing.T) {
	whole := memrun.RandomRun(rand.New(rand.NewPCG(10, 1)), 200, "8", "16")
	parts := memrun.Divide(whole, 3, 0, 1500, -20)
	copied := memrun.Again(parts[1])
	meta, place := *copied.Header.Meta, *copied.Header.Meta.Shard
	place.Rank, meta.Shard, copied.Header.Meta = 2, &place, &meta
	for _, all := range copied.Requests {
		for i := range all {
			all[i].Rank = 0
		}
	}
	for _, batches := range []bool{false, true} {
		m, err := shards.Merge(inMemory([]*memrun.Reader{parts[0], parts[1], copied}))
		if err != nil {
			t.Fatal(err)
		}
		if batches {
			m.Begin(export.Need{AnyOrder: true, Batch: func() export.Batch { return &idBatch{} }})
		}
		n := 0
		for m.Next() {
			n++
		}
		var found *shards.RequestError
		if err := m.Err(); !errors.As(err, &found) || !errors.Is(err, export.ErrContradiction) || len(found.Files) != 2 || found.Files[0] != "shard1" || found.Files[1] != "shard2" {
			t.Errorf("batches %v: %v", batches, err)
		}
		if !batches && n > 3 {
			t.Errorf("%d requests before the first that is in two shards", n)
		}
	}
}

// A restartable is a shard that can be read again.
type restartable struct{ *memrun.Reader }

func (r restartable) Preview() *export.Run { return r.Run() }
func (restartable) Stored() *export.Stored { return nil }
func (r restartable) Row() export.Row      { return export.Row{Request: r.Request()} }
func (restartable) Batch() export.Batch    { return nil }

func (r restartable) Begin(export.Need) bool {
	*r.Reader = *memrun.Again(r.Reader)
	return false
}

// When reading begins again, the requests are looked at as if none had been read: a reading counts each once.
func TestBeginForgetsRequests(t *testing.T) {
	parts := memrun.Divide(memrun.RandomRun(rand.New(rand.NewPCG(12, 1)), 60, "4"), 2)
	copied := memrun.Again(parts[0])
	meta, place := *copied.Header.Meta, *parts[1].Header.Meta.Shard
	meta.Shard, copied.Header.Meta = &place, &meta
	requests := 0
	for _, all := range copied.Requests {
		requests += len(all)
		for i := range all {
			all[i].ID, all[i].Rank = 0, 0
		}
	}
	m, err := shards.Merge([]shards.Shard{
		{Name: "a", Reader: restartable{parts[0]}}, {Name: "b", Reader: restartable{copied}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		m.Next()
	}
	m.Begin(export.Need{})
	n := 0
	for m.Next() {
		n++
	}
	if want := fmt.Sprintf("all %d start at the same times", requests); n != 2*requests || m.Err() == nil || !strings.Contains(m.Err().Error(), want) {
		t.Errorf("%d requests, %v, want %d and %q", n, m.Err(), 2*requests, want)
	}
}

// An idBatch counts requests.
type idBatch struct{ n int }

func (b *idBatch) Reset()          { b.n = 0 }
func (b *idBatch) Add(*export.Row) { b.n++ }

// Ranks of one machine have one clock: offsets that differ by more than their bounds are a
// warning, and the bound of the run covers them.
func TestContradictingClocks(t *testing.T) {
	for _, tt := range []struct {
		name    string
		hosts   [3]string
		offsets [3]export.ClockOffset // rank 0 has none
		bound   int64
		want    string
	}{
		{"one clock", [3]string{"a", "a", "a"}, [3]export.ClockOffset{1: {OffsetNS: 10, BoundNS: 10}, 2: {OffsetNS: -5, BoundNS: 7}}, 10, ""},
		{"rank 0 and another", [3]string{"a", "a", "b"}, [3]export.ClockOffset{1: {OffsetNS: 11, BoundNS: 10}, 2: {OffsetNS: 5e9, BoundNS: 7}}, 21, `ranks 0 and 1 ran on one machine ("a"), but the offsets of their clocks are 0 s ± 0 s and 11 ns ± 10 ns; the bound of these clocks is therefore 21 ns`},
		{"two others", [3]string{"a", "b", "b"}, [3]export.ClockOffset{1: {OffsetNS: 1e9, BoundNS: 10}, 2: {OffsetNS: -1e9, BoundNS: 10}}, 2e9 + 10, `ranks 2 and 1 ran on one machine ("b"), but the offsets of their clocks are -1 s ± 10 ns and 1 s ± 10 ns`},
		{"extreme offsets", [3]string{"a", "a", "a"}, [3]export.ClockOffset{1: {OffsetNS: 1 << 61, BoundNS: 1 << 60}, 2: {OffsetNS: -1 << 61, BoundNS: 1 << 60}}, 1<<62 + 1<<60, `ranks 2 and 1`},
		{"machines of their own", [3]string{"a", "b", "c"}, [3]export.ClockOffset{1: {OffsetNS: 1e9, BoundNS: 10}, 2: {OffsetNS: -1e9, BoundNS: 10}}, 10, ""},
		{"machines whose name is no name", [3]string{"localhost", "localhost.localdomain", "localhost"}, [3]export.ClockOffset{1: {OffsetNS: 1e9, BoundNS: 10}, 2: {OffsetNS: -1e9, BoundNS: 10}}, 10, ""},
		{"machines without a name", [3]string{}, [3]export.ClockOffset{1: {OffsetNS: 1e9, BoundNS: 10}, 2: {OffsetNS: -1e9, BoundNS: 10}}, 10, ""},
	} {
		parts := memrun.Divide(memrun.RandomRun(rand.New(rand.NewPCG(11, 1)), 9, "3"), 3)
		for rank, r := range parts {
			r.Header.Meta.Host = &export.HostMeta{Name: tt.hosts[rank]}
			if rank > 0 {
				r.Header.Meta.Shard.OffsetBefore, r.Header.Meta.Shard.OffsetAfter = &tt.offsets[rank], nil
			}
		}
		m, err := shards.Merge(inMemory(parts))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(m.Run().Meta.Warnings, "; ")
		if got := *m.Run().Meta.Merged.ClockBoundNS; got != tt.bound || (text != "") != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("%s: bound %d, want %d; warnings %q, want %q", tt.name, got, tt.bound, text, tt.want)
		}
	}
}
