package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A fakeTalker is a fake server that holds conversations: a turn sends the whole history.
type fakeTalker struct {
	*fakeServer
	bad int // step of an entry that cannot be asked; 0: none
}

func (f *fakeTalker) NewConversation() backend.Conversation { return &fakeConversation{f: f} }

type fakeConversation struct {
	f    *fakeTalker
	said string
}

func (c *fakeConversation) Turn(e *workload.Entry) (backend.Payload, error) {
	if e.Step == c.f.bad && c.f.bad > 0 {
		return nil, errors.New("no messages")
	}
	if e.Prompt != nil {
		c.said += string(e.Prompt.Messages)
	} else {
		c.said += fmt.Sprint("q", e.Step)
	}
	return fakePayload(c.said), nil
}

func (c *fakeConversation) AddReply(x *backend.Exchange) (contentless bool, err error) {
	if x.Request.Status != export.StatusOK {
		return false, errors.New("failed")
	}
	c.said += " a "
	return false, nil
}

func (c *fakeConversation) ReplyText() string { return fmt.Sprintf("%q", c.said) }

// turns makes a workload of turns: "a" is one of session a; delays in ms.
func turns(sessions string, delays ...int) workload.List {
	var list workload.List
	number := map[string]int{}
	for i, s := range strings.Split(sessions, "") {
		e := workload.Entry{Step: i + 1, Session: s, Turn: number[s]}
		if i < len(delays) {
			e.Delay = time.Duration(delays[i]) * time.Millisecond
		}
		number[s]++
		list = append(list, e)
	}
	return list
}

// recordSessions is record with a server that can talk.
func recordSessions(t *testing.T, answers func(uint64) answer, cfg Config, after func(stop chan struct{}, cancel context.CancelFunc)) (w *memWriter, res *Result, took time.Duration, err error) {
	t.Helper()
	cfg.Backend = &fakeTalker{}
	w = &memWriter{}
	res, took, err = recordTo(t, w, answers, cfg, after)
	return w, res, took, err
}

// A turn is sent after the answer to the previous turn and the think time, with the whole history.
// Conversations begin in their order, as many at a time as asked for, and a next one when one ends.
func TestSessions(t *testing.T) {
	// a: 3 turns, b: 2, c: 1; b is listed first.
	w, res, took, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("bababc"[:5]+"c", 80, 50, 0, 30), Levels: []load.Level{load.Sessions{N: 2}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Steps: b1 a2 b3 a4 b5 c6; b waits 80 ms after its first turn, a 50 after its
	// first; b has no delay after step 3, a 30 after step 4, which is its last.
	type turn struct {
		session string
		turn    int
		start   time.Duration // ms
		thought bool          // a time was scheduled
		asked   string
	}
	var got []turn
	base := w.experiments[0].Meta.StartNS
	for _, r := range w.requests {
		got = append(got, turn{r.SessionID, r.Turn, time.Duration(r.StartNS-base) / time.Millisecond, r.ScheduledNS != 0, string(r.Inputs[0].Value.Data)})
		if r.ScheduledNS != 0 && r.ScheduledNS != r.StartNS {
			t.Errorf("turn %d of %s: scheduled and started differ in the bubble", r.Turn, r.SessionID)
		}
	}
	slices.SortFunc(got, func(a, b turn) int {
		return strings.Compare(fmt.Sprint(a.session, a.turn), fmt.Sprint(b.session, b.turn))
	})
	want := []turn{
		{"a", 0, 0, false, "q2"},
		{"a", 1, 150, true, "q2 a q4"},
		{"b", 0, 0, false, "q1"},
		{"b", 1, 180, true, "q1 a q3"},
		{"b", 2, 280, false, "q1 a q3 a q5"},
		{"c", 0, 250, false, "q6"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("turns\n%v\nwant\n%v", got, want)
	}
	e, l := w.experiments[0], res.Levels[0]
	if e.Mode != "request_rate" || e.Value != "0.0" || l.OK != 6 || len(l.Windows) != 1 || took != 380*time.Millisecond {
		t.Errorf("experiment %s %s, %d requests, %d windows, %v; want request_rate 0.0, 6, one, 380ms", e.Mode, e.Value, l.OK, len(l.Windows), took)
	}
	if c := e.Meta.Client; c.OfferedPerSecond != 0 || c.Turnaround == nil || c.Lateness.N != 2 {
		t.Errorf("client %+v: want no rate, turnarounds, and lateness of two turns", c)
	}
}

// A conversation ends with a turn that fails. The others go on, and the turns that were not sent
// are reported.
func TestSessionBreaksOff(t *testing.T) {
	second := func(id uint64) answer {
		if id == 2 {
			return answer{after: time.Millisecond, status: export.StatusHTTPError, msg: "too long"}
		}
		return answer{after: time.Millisecond, status: export.StatusOK}
	}
	w, res, _, err := recordSessions(t, second, Config{Entries: turns("aaaabb"), Levels: []load.Level{load.Sessions{N: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 turns were not sent, because an earlier turn failed in 1 conversation"
	if l := res.Levels[0]; l.OK != 3 || l.Failed != 1 || !slices.Equal(l.Warnings, []string{want}) || !slices.Contains(w.experiments[0].Meta.Warnings, want) {
		t.Errorf("%d ok, %d failed, warnings %q; want 3, 1 and %q", l.OK, l.Failed, l.Warnings, want)
	}
}

// With a duration conversations are held again and again until it is over; the
// first turns can be warm-up.
func TestSessionsForAWhile(t *testing.T) {
	w, res, _, err := recordSessions(t, ok(100*time.Millisecond), Config{
		Entries: turns("aab"), Levels: []load.Level{load.Sessions{N: 1}}, Warmup: 2, Measure: window.Measure{Duration: time.Second},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := res.Levels[0]; l.Warmup != 2 || l.OK < 9 || l.OK > 10 {
		t.Errorf("%d of warm-up, %d measured; want 2 and about 10", l.Warmup, l.OK)
	}
	for i, r := range w.sorted() {
		if want := []string{"q1", "q1 a q2", "q3"}[i%3]; string(r.Inputs[0].Value.Data) != want {
			t.Errorf("request %d asked %s, want %s: each conversation begins anew", i+1, r.Inputs[0].Value.Data, want)
		}
	}
}

// Thinking is cut short by a signal.
func TestSessionsStop(t *testing.T) {
	w, res, took, err := recordSessions(t, ok(time.Second), Config{Entries: turns("aa", 3_600_000), Levels: []load.Level{load.Sessions{N: 1}}}, func(stop chan struct{}, _ context.CancelFunc) {
		time.Sleep(5 * time.Second)
		close(stop)
	})
	if err != nil || !res.Interrupted || took != 5*time.Second || w.count("") != 1 {
		t.Errorf("%d requests in %v, %v", w.count(""), took, err)
	}
}

// Mistakes in the conversations are found before the load.
func TestSessionsErrors(t *testing.T) {
	level := []load.Level{load.Sessions{N: 1}}
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no session", Config{Entries: workload.List{{Session: "a"}, {Step: 1}}}, `stream 0, step 1: no "session_id"`},
		{"a bad turn", Config{Entries: turns("ab"), Backend: &fakeTalker{bad: 2}}, "no messages"},
		{"no talker", Config{Entries: turns("ab"), Backend: &fakeServer{}}, "sessions need the chat endpoint"},
		{"a batch", Config{Entries: turns("ab"), BatchSize: 2}, "requests of this service are not batched"},
		{"a long warm-up", Config{Entries: turns("ab"), Warmup: 2}, "a warm-up of 2 leaves nothing to measure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Levels = level
			if tt.cfg.Backend == nil {
				tt.cfg.Backend = &fakeTalker{}
			}
			w := &memWriter{}
			_, _, err := recordTo(t, w, ok(0), tt.cfg, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || w.run != nil {
				t.Errorf("error %v, want %q and nothing written", err, tt.want)
			}
		})
	}
}

func (c *fakeConversation) Fork() backend.Conversation {
	fork := *c
	return &fork
}
