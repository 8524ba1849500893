package drive

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// textBackend encodes the step numbers of entries.
type textBackend struct{ backend.Backend }

type textPayload string

func (p textPayload) Inputs() export.Fields {
	return export.Fields{{Name: "IN", Value: export.Text(string(p))}}
}

func (textBackend) Prepare(e *workload.Entry) (backend.Payload, error) {
	return textPayload(fmt.Sprint(e.Step)), nil
}

func (textBackend) PrepareBatch(es []*workload.Entry) (backend.Payload, error) {
	var steps []string
	for _, e := range es {
		steps = append(steps, fmt.Sprint(e.Step))
	}
	return textPayload(strings.Join(steps, " ")), nil
}

func TestBatches(t *testing.T) {
	for _, tt := range []struct {
		entries, batch int
		want           []string
	}{
		{3, 1, []string{"0", "1", "2"}},
		{4, 2, []string{"0 1", "2 3"}},
		{3, 2, []string{"0 1", "2 0", "1 2"}},
		{1, 4, []string{"0 0 0 0"}},
	} {
		entries := make(workload.List, tt.entries)
		for i := range entries {
			entries[i].Step = i
		}
		s, err := NewRequestSet(t.Context(), Workload{Backend: textBackend{}, BatchSize: tt.batch, Entries: entries, KeepBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range s.kept {
			got = append(got, string(p.payload.(textPayload)))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d entries in batches of %d: %q, want %q", tt.entries, tt.batch, got, tt.want)
		}
	}
}

// The hash tells orders apart.
func TestDatasetHashOfOrders(t *testing.T) {
	seen := map[string]workload.Order{}
	for _, o := range []workload.Order{{}, {Kind: workload.Shuffled, Seed: 1}, {Kind: workload.Shuffled, Seed: 2}, {Kind: workload.Random, Seed: 1}} {
		s, err := NewRequestSet(t.Context(), Workload{Backend: textBackend{}, Entries: workload.List{{}, {Step: 1}}, Order: o, KeepBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[s.hash]; ok {
			t.Errorf("%v and %v have one hash", o, other)
		}
		seen[s.hash] = o
	}
}

// A run's record states streaming only if the statement holds for all its requests.
func TestStreamCount(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name  string
		set   RequestSet
		given *bool
		want  *bool
	}{
		{"all ask", RequestSet{streamed: true}, nil, &yes},
		{"all ask, though the flag did not", RequestSet{streamed: true}, &no, &yes},
		{"none asks", RequestSet{whole: true}, nil, &no},
		{"some ask", RequestSet{streamed: true, whole: true}, &yes, nil},
		{"no request says it", RequestSet{}, &yes, &yes},
		{"nothing says it", RequestSet{}, nil, nil},
	} {
		if got := tt.set.Streamed(tt.given); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A run that is stopped does not wait for requests to be made, nor for goroutines that
// wait for requests.
func TestPrefetchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewRequestSet(t.Context(), Workload{Backend: textBackend{}, Entries: make(workload.List, 10), KeepBytes: 1})
		if err != nil {
			t.Fatal(err)
		}
		p := s.Prefetch(0, ranks.Share{}, nil)
		taken := make(chan bool)
		go func() { _, ok := p.take(5); taken <- ok }() // 0 to 4 are never taken
		synctest.Wait()
		p.Stop()
		if <-taken {
			t.Error("request 5 was there before 0 was taken, with one ahead")
		}
		p.Stop()
	})
}

// Lengths are even over the range that the variation allows, rounded towards the
// mean, and never below one.
func TestSequenceLengths(t *testing.T) {
	for _, tt := range []struct {
		length, steps int
		variation     float64
		low, high     int
	}{
		{0, 3, 0.2, 3, 3},
		{20, 3, 0, 20, 20},
		{20, 3, 0.2, 17, 23}, // ±4 is met by a draw of exactly 1 alone
		{2, 3, 4, 1, 9},
	} {
		s := load.Sequences{Length: tt.length, Variation: tt.variation, Seed: 3}
		low, high := 1<<30, 0
		for n := range uint64(2000) {
			l := sequenceLength(&s, n, tt.steps)
			low, high = min(low, l), max(high, l)
		}
		if low != tt.low || high != tt.high {
			t.Errorf("length %d, variation %v: %d to %d, want %d to %d", tt.length, tt.variation, low, high, tt.low, tt.high)
		}
	}
}
