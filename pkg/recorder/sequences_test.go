package recorder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A sequenceServer is a fake server whose model keeps state: it notes what it is
// sent, and refuses what is out of order or while the sequence's last request is in
// flight.
type sequenceServer struct {
	*fakeServer
	mu     sync.Mutex
	live   map[uint64]bool // whether a request is in flight
	taken  []takenStep
	wrongs []string
}

// A takenStep is a request as it arrived.
type takenStep struct {
	backend.SequenceStep
	entry string
}

func (*sequenceServer) Stateful() bool { return true }

func (f *sequenceServer) Open(context.Context, int, *rxclock.Clock) (backend.Sender, error) {
	return f, nil
}

func (f *sequenceServer) Send(ctx context.Context, p backend.Payload, x *backend.Exchange) {
	s := x.Sequence
	f.mu.Lock()
	flying, live := f.live[s.ID]
	if s.ID == 0 || s.Start == live || flying || x.Request.SequenceID != s.ID {
		f.wrongs = append(f.wrongs, fmt.Sprintf("%+v: live %v, in flight %v, exported as %d", s, live, flying, x.Request.SequenceID))
	}
	if f.live == nil {
		f.live = map[uint64]bool{}
	}
	f.live[s.ID] = true
	f.taken = append(f.taken, takenStep{s, string(p.Inputs()[0].Value.Data)})
	f.mu.Unlock()
	f.fakeServer.Send(ctx, p, x)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live[s.ID] = false; s.End || x.Request.Status != export.StatusOK {
		delete(f.live, s.ID)
	}
}

// sequences returns the entries that each sequence was sent, in the order in which
// they began, and marks what ended.
func (f *sequenceServer) sequences() (all []string) {
	at := map[uint64]int{}
	for _, s := range f.taken {
		if s.Start {
			at[s.ID] = len(all)
			all = append(all, fmt.Sprint(s.ID, ":"))
		}
		i := at[s.ID]
		all[i] += strings.TrimPrefix(s.entry, "entry")
		if s.End {
			all[i] += "."
		}
	}
	return all
}

func (f *sequenceServer) check(t *testing.T, want ...string) {
	t.Helper()
	if len(f.wrongs) > 0 {
		t.Errorf("out of order:\n%s", strings.Join(f.wrongs, "\n"))
	}
	if len(f.live) > 0 {
		t.Errorf("sequences that did not end: %v", f.live)
	}
	got := f.sequences()
	slices.Sort(got) // which of two slots sends first at one instant is no promise
	slices.Sort(want)
	if len(want) > 0 && strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("sequences\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// twoStreams are a stream of three entries and one of two.
var twoStreams = workload.List{{Stream: 0, Step: 0}, {Stream: 0, Step: 1}, {Stream: 0, Step: 2}, {Stream: 1, Step: 7}, {Stream: 1, Step: 8}}

// Two slots: each has one sequence at a time, a stream to its end, and the streams
// take turns. What is under way after six requests is ended by one more, which is
// not measured.
func TestSequences(t *testing.T) {
	b := &sequenceServer{}
	w, res, _, err := record(t, ok(100*time.Millisecond), Config{
		Backend: b, Streams: twoStreams, Levels: load.Closed(2), Measure: window.Measure{Requests: 6},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.check(t, "1: 0 1 2.", "2: 7 8.", "3: 0 1.")
	if w.count("") != 6 || w.count("late") != 1 || res.Levels[0].OK != 6 {
		t.Errorf("%d measured, %d late; want 6 and the one that ends sequence 3", w.count(""), w.count("late"))
	}
}

// A longer sequence begins its stream again; warm-up and levels end theirs; the ids
// go on from level to level, and around in their range.
func TestSequenceLength(t *testing.T) {
	b := &sequenceServer{}
	w, _, _, err := record(t, ok(100*time.Millisecond), Config{
		Backend: b, Streams: twoStreams[3:], Levels: load.Closed(1, 1), Measure: window.Measure{Requests: 6}, Warmup: 2,
		Sequences: load.Sequences{Length: 5, First: 11, Last: 13},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.check(t, "11: 7 8 7.", "12: 7 8 7 8 7.", "13: 7 8.", "11: 7 8 7.", "12: 7 8 7 8 7.", "13: 7 8.")
	if w.count("warmup") != 6 || w.count("") != 12 || w.count("late") != 2 {
		t.Errorf("%d warm-up, %d measured, %d late; want 6, 12 and 2", w.count("warmup"), w.count(""), w.count("late"))
	}
}

// A rate keeps four sequences going in turn, however quick the answers are; when
// all wait for an answer, what is due waits too.
func TestSequencesOfARate(t *testing.T) {
	for _, latency := range []time.Duration{time.Millisecond, 200 * time.Millisecond} {
		b := &sequenceServer{}
		w, _, _, err := record(t, ok(latency), Config{
			Backend: b, Streams: twoStreams[:1], Levels: []load.Level{load.Rate{PerSecond: 100}}, Measure: window.Measure{Requests: 12},
			Sequences: load.Sequences{Length: 100},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.check(t, "1: 0 0 0 0.", "2: 0 0 0 0.", "3: 0 0 0 0.", "4: 0 0 0 0.")
		if w.count("") != 12 || w.count("late") != 4 {
			t.Errorf("%v: %d measured, %d late; want 12 and 4 that end sequences", latency, w.count(""), w.count("late"))
		}
		if last := w.sorted()[11]; time.Duration(last.StartNS-last.ScheduledNS) > time.Millisecond != (latency > 100*time.Millisecond) {
			t.Errorf("%v: the last request was sent %v late", latency, time.Duration(last.StartNS-last.ScheduledNS))
		}
	}
}

// A request that fails ends its sequence; the slot begins another one.
func TestSequenceBreaks(t *testing.T) {
	b := &sequenceServer{}
	_, res, _, err := record(t, func(id uint64) answer {
		if id == 2 {
			return answer{after: time.Millisecond, status: export.StatusHTTPError}
		}
		return answer{after: time.Millisecond, status: export.StatusOK}
	}, Config{Backend: b, Streams: twoStreams[:3], Levels: load.Closed(1), Measure: window.Measure{Requests: 5}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.check(t, "1: 0 1", "2: 0 1 2.")
	if want := "1 sequence broke off with a request that failed"; len(res.Levels[0].Warnings) != 1 || res.Levels[0].Warnings[0] != want {
		t.Errorf("warnings %q, want %q", res.Levels[0].Warnings, want)
	}
}

// A request that is made again when it is needed is the request of its sequence.
func TestSequencesNotKept(t *testing.T) {
	b := &sequenceServer{}
	if _, _, _, err := record(t, ok(time.Millisecond), Config{
		Backend: b, Streams: twoStreams, Levels: load.Closed(1), Measure: window.Measure{Requests: 5}, KeepBytes: 1,
	}, nil); err != nil {
		t.Fatal(err)
	}
	b.check(t, "1: 0 1 2.", "2: 7 8.")
}

// A stop ends the sequences.
func TestSequencesStop(t *testing.T) {
	b := &sequenceServer{}
	_, res, _, err := record(t, ok(100*time.Millisecond), Config{
		Backend: b, Streams: twoStreams, Levels: load.Closed(2), Measure: window.Measure{Duration: time.Minute}, Sequences: load.Sequences{Length: 50},
	}, func(stop chan struct{}, _ context.CancelFunc) {
		time.Sleep(250 * time.Millisecond)
		close(stop)
	})
	if err != nil || !res.Interrupted {
		t.Fatalf("error %v, interrupted %v", err, res.Interrupted)
	}
	b.check(t, "1: 0 1 2 0.", "2: 7 8 7 8.")
}

func TestSequencesRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"ids", Config{Levels: load.Closed(1, 4), Sequences: load.Sequences{First: 5, Last: 7}}, "the range of sequence ids, 5 to 7, is less than the 4 sequences at a time"},
		{"ids of a rate", Config{Levels: []load.Level{load.Rate{PerSecond: 1}}, Sequences: load.Sequences{First: 5, Last: 7}}, "less than the 4 sequences"},
		{"schedule", Config{Levels: []load.Level{load.Timetable{Offsets: make([]time.Duration, 3)}}}, "the entries of a schedule are in no sequences"},
		{"periodic", Config{Levels: []load.Level{load.Periodic{Start: 1, End: 2, Step: 1, Period: 1}}}, "needs a concurrency or a rate"},
		{"batch", Config{BatchSize: 2}, "batch size 2"},
		{"backwards", Config{Sequences: load.Sequences{First: 5, Last: 4}}, "must not be above"},
	} {
		b := &sequenceServer{}
		tt.cfg.Backend = b
		_, _, _, err := record(t, ok(time.Millisecond), tt.cfg, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(b.taken) > 0 {
			t.Errorf("%s: error %v after %d requests, want %q before the first", tt.name, err, len(b.taken), tt.want)
		}
	}
}

// Requests of sequences are what perf_analyzer calls asynchronous unless told
// otherwise: a throughput that is stable suffices. Requests of other models are not.
func TestSequencesThroughputSuffices(t *testing.T) {
	// Ten a second; from the 20th on one takes 50 ms instead of 10.
	answers := script([2]int{19, 10}, [2]int{1, 50})
	for _, tt := range []struct {
		name     string
		backend  backend.Backend
		suffices bool
		stable   bool
	}{
		{"sequences", &sequenceServer{}, true, true},
		{"sequences, synchronously", &sequenceServer{}, false, false},
		{"another model", nil, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, res, _, err := record(t, answers, Config{
				Backend: tt.backend, Sequences: load.Sequences{Length: 100}, Levels: []load.Level{load.Rate{PerSecond: 10}},
				Measure: window.Measure{Interval: time.Second, MaxTrials: 3, Stability: 0.2, StatefulThroughputSuffices: tt.suffices},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if l := res.Levels[0]; *l.Stable != tt.stable || len(l.Windows) != 3 {
				t.Errorf("stable %v in windows %q, want %v", *l.Stable, brief(l.Windows...), tt.stable)
			}
		})
	}
}
