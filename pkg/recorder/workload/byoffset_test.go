package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

func TestByOffset(t *testing.T) {
	at := func(step int, ms int) Entry {
		return Entry{Step: step, Timed: true, Offset: time.Duration(ms) * time.Millisecond, Values: export.Fields{
			{Name: "A", Value: export.JSON("[1]")}, {Name: "timestamp", Value: export.JSON("[7]")}, {Name: "B", Value: export.JSON("[2]")},
		}}
	}
	src := List{at(0, 900), at(1, 100), at(2, 0), at(3, 100)}
	sorted, offsets, err := ByOffset(src)
	if err != nil {
		t.Fatal(err)
	}
	ms := time.Millisecond
	if want := []time.Duration{0, 100 * ms, 100 * ms, 900 * ms}; !slices.Equal(offsets, want) {
		t.Errorf("offsets %v, want %v", offsets, want)
	}
	var steps []int
	for k := range sorted.Len() {
		e, err := sorted.At(k)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, e.Step)
		if len(e.Values) != 2 || e.Values[0].Name != "A" || e.Values[1].Name != "B" {
			t.Errorf("entry %d has the values %v, want A and B", k, e.Values)
		}
	}
	if want := []int{2, 1, 3, 0}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v: by time, then in the order of the source", steps, want)
	}
	if len(src[0].Values) != 3 {
		t.Error("the source was changed")
	}
}

// broken is a source that cannot be read.
type broken struct{}

func (broken) Len() int              { return 1 }
func (broken) At(int) (Entry, error) { return Entry{}, errors.New("torn") }

func TestByOffsetErrors(t *testing.T) {
	if _, _, err := ByOffset(List{{Timed: true}, {Stream: 0, Step: 1}}); err == nil || !strings.Contains(err.Error(), `stream 0, step 1: no "timestamp"`) {
		t.Errorf("an entry without a time: %v", err)
	}
	if _, _, err := ByOffset(broken{}); err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("a source that cannot be read: %v", err)
	}
}
