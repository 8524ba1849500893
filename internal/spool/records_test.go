package spool

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Records come in the order of their keys, in memory and from the file, also a record that is larger than a block.
func TestRecords(t *testing.T) {
	t.Parallel()
	for _, maxBytes := range []int64{0, 1, 3 * blockBytes} {
		blocks := NewBlocks(maxBytes, t.TempDir(), "records")
		records := Records{Blocks: blocks}
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 30_000
		var want []int
		keys := make([][2]uint64, n)
		for i := range n {
			keys[i] = [2]uint64{uint64(i/100*100 + rng.IntN(50)), uint64(rng.IntN(3))}
			want = append(want, i)
			long := 0
			if i == 777 {
				long = 2 * blockBytes
			}
			records.Add(keys[i][0], keys[i][1], func(p *Packer) {
				p.Begin()
				p.Int(int64(i))
				p.Each(long, 0, func(int) int64 { return 5 })
				p.End()
			})
		}
		slices.SortStableFunc(want, func(a, b int) int { return slices.Compare(keys[a][:], keys[b][:]) })
		records.Sort()
		var got []int
		records.Each(func(i int, record []byte) bool {
			u := Unpacker{Bytes: record}
			u.Begin()
			got = append(got, int(u.Int()))
			if key := keys[want[i]][1]; records.Second(i) != key {
				t.Fatalf("record %d has the second key %d, want %d", i, records.Second(i), key)
			}
			return true
		})
		if records.Len() != n || !slices.Equal(got, want) {
			t.Errorf("%d bytes: another order", maxBytes)
		}
		memory, file := blocks.Used()
		if maxBytes > 0 && (memory > maxBytes || file == 0) || maxBytes == 0 && file > 0 {
			t.Errorf("%d bytes: %d in memory and %d in the file", maxBytes, memory, file)
		}
		records.Release()
		if memory, _ := blocks.Used(); memory != 0 || records.Len() != 0 {
			t.Errorf("%d bytes and %d records after Release", memory, records.Len())
		}
		if err := blocks.Close(); err != nil || blocks.Err() != nil {
			t.Error(err, blocks.Err())
		}
	}
}
