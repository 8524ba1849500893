package recorder

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A countedSource is a source that is not in memory: it counts how often it is
// read, and fails from a read on.
type countedSource struct {
	n      int
	reads  atomic.Int64
	failAt int64
}

func (s *countedSource) Len() int { return s.n }

func (s *countedSource) At(k int) (workload.Entry, error) {
	if n := s.reads.Add(1); s.failAt > 0 && n >= s.failAt {
		return workload.Entry{}, errors.New("data.jsonl: input/output error")
	}
	return workload.Entry{Step: k, Session: fmt.Sprint("s", k/2), Turn: k % 2}, nil
}

// inputsOf returns what was sent, by id.
func inputsOf(w *memWriter) []string {
	slices.SortFunc(w.requests, func(a, b export.Request) int { return int(a.ID) - int(b.ID) })
	var all []string
	for _, r := range w.requests {
		all = append(all, strings.TrimPrefix(string(r.Inputs[0].Value.Data), "entry "))
	}
	return all
}

// The requests and their hash depend neither on whether the requests fit in memory, nor on how many
// are in flight.
func TestSupply(t *testing.T) {
	for _, order := range []workload.Order{{}, {Kind: workload.Shuffled, Seed: 3}, {Kind: workload.Random, Seed: 3}} {
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprint(order.Index(i, 20)))
		}
		hash := ""
		for _, keep := range []int64{0, 1, 3000} { // all, one ahead, a few ahead
			for _, level := range []int{1, 7} {
				src := &countedSource{n: 20}
				w, _, _, err := record(t, ok(10*time.Millisecond), Config{
					Entries: src, Order: order, KeepBytes: keep, Levels: load.Closed(level), Measure: window.Measure{Requests: 50},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := inputsOf(w); !slices.Equal(got, want) {
					t.Errorf("%v, %d bytes kept, concurrency %d: sent %v, want %v", order.Kind, keep, level, got, want)
				}
				for _, r := range w.requests {
					k := order.Index(int(r.ID-1), 20)
					if r.SessionID != fmt.Sprint("s", k/2) || r.Turn != k%2 {
						t.Errorf("entry %d: session %q, turn %d", k, r.SessionID, r.Turn)
					}
				}
				if reads := src.reads.Load(); keep == 0 && reads != 20 || keep > 0 && reads < 70 {
					t.Errorf("%d bytes kept: %d reads", keep, reads)
				}
				if hash == "" {
					hash = w.run.Meta.DatasetSHA256
				}
				if w.run.Meta.DatasetSHA256 != hash {
					t.Errorf("%v, %d bytes kept: another hash", order.Kind, keep)
				}
			}
		}
	}
}

// Data that cannot be read is found before the load; if only then, the run ends
// and keeps what it has.
func TestSourceFails(t *testing.T) {
	w, res, _, err := record(t, ok(10*time.Millisecond), Config{Entries: &countedSource{n: 20, failAt: 20}, KeepBytes: 1, Measure: window.Measure{Requests: 50}}, nil)
	if err == nil || res != nil || len(w.experiments) != 0 {
		t.Errorf("error %v, written %v; want the error and nothing written", err, w.experiments)
	}
	w, res, _, err = record(t, ok(10*time.Millisecond), Config{Entries: &countedSource{n: 20, failAt: 31}, KeepBytes: 1, Measure: window.Measure{Requests: 50}}, nil)
	if err == nil || !strings.Contains(err.Error(), "data.jsonl: input/output error") {
		t.Errorf("error %v, want the source's", err)
	}
	if res == nil || w.count("") != 10 || w.run == nil {
		t.Errorf("%d requests measured, want the 10 that could be read", w.count(""))
	}
}
