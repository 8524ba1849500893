package sockstamp

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTxLog(t *testing.T) {
	tests := []struct {
		name string
		add  []uint64 // ends; the stamp is 100 × end + index
		want []uint64 // stamps
	}{
		{"none", nil, nil},
		{"in order", []uint64{1, 5, 9}, []uint64{100, 501, 902}},
		{"retransmitted: the first counts", []uint64{1, 5, 1, 5, 6}, []uint64{100, 501, 604}},
		{"out of order", []uint64{5, 9, 1, 7}, []uint64{102, 500, 703, 901}},
		{"more than twice keep: the oldest go", []uint64{1, 2, 3, 4, 5, 6, 7}, []uint64{403, 504, 605, 706}},
		{"full, then one of the past", []uint64{2, 4, 6, 8, 10, 12, 1}, []uint64{200, 401, 602, 803, 1004, 1205}},
		{"full, then one among the kept", []uint64{2, 4, 6, 8, 10, 12, 9}, []uint64{803, 906, 1004, 1205}},
	}
	for _, tt := range tests {
		l := txLog{keep: 3}
		for i, end := range tt.add {
			l.add(end, 100*end+uint64(i))
		}
		var got []uint64
		for _, p := range l.parts {
			got = append(got, p.ns)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: stamps (-want +got):\n%s", tt.name, diff)
		}
		if !slices.IsSortedFunc(l.parts, func(a, b part) int { return int(a.end) - int(b.end) }) {
			t.Errorf("%s: not sorted: %v", tt.name, l.parts)
		}
	}
}

func TestTxLogLookups(t *testing.T) {
	l := txLog{keep: 8}
	for _, end := range []uint64{10, 20, 30} {
		l.add(end, 1000+end)
	}
	for end, want := range map[uint64]uint64{0: 0, 9: 0, 10: 1010, 11: 0, 30: 1030, 31: 0, math.MaxUint64: 0} {
		if got, ok := l.at(end); got != want || ok != (want != 0) {
			t.Errorf("at(%d) = %d, %v, want %d", end, got, ok, want)
		}
	}
	l.add(40, 0) // written, no stamp
	l.add(55, 1055)
	for offset, want := range map[uint64]uint64{
		0: 1010, 9: 1010, 10: 1020, 29: 1030, 30: 0, 39: 0, 40: 1055, 54: 1055, 55: 0, math.MaxUint64: 0,
	} {
		if got, ok := l.holding(offset); got != want || ok != (want != 0) {
			t.Errorf("holding(%d) = %d, %v, want %d", offset, got, ok, want)
		}
	}
	if l.add(40, 1040); l.stamped != 55 {
		t.Errorf("stamped = %d, want 55", l.stamped)
	}
	if got, ok := l.holding(30); got != 1040 || !ok {
		t.Errorf("holding(30) after its stamp came = %d, %v", got, ok)
	}
	// Where the parts before are forgotten, the first one's begin is, too.
	l = txLog{keep: 1}
	for _, end := range []uint64{10, 20, 30} {
		l.add(end, 1000+end)
	}
	for offset, want := range map[uint64]uint64{5: 0, 15: 0, 19: 1020, 20: 1030, 29: 1030} {
		if got, ok := l.holding(offset); got != want || ok != (want != 0) {
			t.Errorf("forgotten: holding(%d) = %d, %v, want %d", offset, got, ok, want)
		}
	}
}

func TestEndOffset(t *testing.T) {
	const gib4 = 1 << 32
	tests := []struct {
		name    string
		written uint64
		id      uint32
		want    uint64
		ok      bool
	}{
		{"the first byte", 1, 0, 1, true},
		{"the last of many", 5000, 4999, 5000, true},
		{"an earlier write", 5000, 99, 100, true},
		{"of a write in progress", 5000, 8999, 9000, true},
		{"of the first write, in progress", 0, 8999, 9000, true},
		{"the last below 4 GiB", gib4, math.MaxUint32, gib4, true},
		{"the first above", gib4 + 1, 0, gib4 + 1, true},
		{"before the wrap, written after", gib4 + 10, math.MaxUint32 - 4, gib4 - 4, true},
		{"after the wrap, written before", gib4 - 10, 4, gib4 + 5, true},
		{"the third round", 3*gib4 + 100, 49, 3*gib4 + 50, true},
		{"almost 2 GiB back", 3 * gib4, 1<<31 + 5, 2*gib4 + 1<<31 + 6, true},
		{"before the first byte", 5, math.MaxUint32 - 10, 0, false},
	}
	for _, tt := range tests {
		if got, ok := endOffset(tt.written, tt.id); got != tt.want || ok != tt.ok {
			t.Errorf("%s: endOffset(%d, %d) = %d, %v, want %d, %v", tt.name, tt.written, tt.id, got, ok, tt.want, tt.ok)
		}
	}
}
