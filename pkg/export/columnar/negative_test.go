package columnar

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// A negative number in a column of times is a defect of the row, not a time of the far future.
func TestNegativeTimes(t *testing.T) {
	minus := ^uint64(4) // -5
	numbers := &pages.Vector{N: 1, Nums: []uint64{minus}, Signed: true}
	var d rowDecoder
	start := uint64(1)
	d.decodeScalar("start_ns", &start, numbers, 0)
	if want := "column start_ns: expected 0 or more, found -5"; start != 0 || d.defect != want {
		t.Errorf("start %d, defect %q; want 0 and %q", start, d.defect, want)
	}
	d.defect = ""
	if d.decodeScalar("start_ns", &start, &pages.Vector{N: 1, Nums: []uint64{minus}}, 0); start != minus || d.defect != "" {
		t.Errorf("of an unsigned column: start %d, defect %q; want %d and none", start, d.defect, minus)
	}
	id := 1
	d.decodeScalar("id", &id, numbers, 0)
	if id != -5 || d.defect != "" {
		t.Errorf("id %d, defect %q; want -5 and none", id, d.defect)
	}

	d = rowDecoder{}
	var cols [numColumns]*pages.Vector
	cols[colRecv] = &pages.Vector{N: 1, Offsets: []int{0, 2}, Children: []*pages.Vector{{N: 2, Nums: []uint64{7, minus}, Signed: true}}}
	d.decodeResponses(&rows{cols: cols}, 0)
	if want := "column recv_ns: expected 0 or more, found -5"; d.defect != want || len(d.responses) != 2 || d.responses[1].RecvNS != 0 {
		t.Errorf("responses %+v, defect %q; want %q", d.responses, d.defect, want)
	}
}
