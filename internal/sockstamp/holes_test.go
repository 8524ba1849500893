package sockstamp

import "testing"

// DropRevised keeps the stamps of later reads, so that the kernel is not asked at each read after many
// revised stamps.
func TestDropRevised(t *testing.T) {
	c := &Conn{}
	for ordinal := uint64(1); ordinal <= maxRevised; ordinal++ {
		if many := c.ManyRevised(); many != (ordinal > maxRevised/2) {
			t.Fatalf("%d revised stamps are many: %v", ordinal-1, many)
		}
		c.holes.revised = append(c.holes.revised, Stamp{Ordinal: 2 * ordinal})
	}
	for _, step := range []struct {
		ordinal uint64
		left    int
	}{{0, maxRevised}, {1, maxRevised}, {2, maxRevised - 1}, {21, maxRevised - 10}, {2*maxRevised - 2, 1}, {2*maxRevised - 2, 1}, {2 * maxRevised, 0}, {5000, 0}} {
		c.DropRevised(step.ordinal)
		left := c.holes.revised
		if len(left) != step.left || len(left) > 0 && left[0].Ordinal <= step.ordinal || len(left) > 0 && left[len(left)-1].Ordinal != 2*maxRevised {
			t.Errorf("after DropRevised(%d) %d stamps are left, want %d: %v", step.ordinal, len(left), step.left, left[:min(3, len(left))])
		}
	}
}
