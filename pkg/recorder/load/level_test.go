package load

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestLevelNames checks the names of each level in an export and in messages.
func TestLevelNames(t *testing.T) {
	for _, tt := range []struct {
		level             Level
		mode, value, text string
		slots             int
	}{
		{Concurrency{N: 8}, "concurrency", "8", "concurrency 8", 8},
		{Sessions{N: 3}, "request_rate", "0.0", "session concurrency 3", 3},
		{Periodic{1, 10, 3, 4}, "concurrency", "10", "periodic concurrency 1:10:3, a step every 4 responses", 10},
		{Rate{PerSecond: 10}, "request_rate", "10.0", "request rate 10", 0},
		{Rate{PerSecond: 7.5, Ceiling: 4}, "request_rate", "7.5", "request rate 7.5, at most 4 in flight", 4},
		{Rate{PerSecond: 2, Arrivals: Poisson}, "request_rate", "2.0", "request rate 2, poisson", 0},
		{Rate{PerSecond: 2, Arrivals: Poisson, Unscaled: true, Ceiling: 3}, "request_rate", "2.0", "request rate 2, poisson, unscaled, at most 3 in flight", 3},
		{Rate{PerSecond: 2, Arrivals: Gamma}, "request_rate", "2.0", "request rate 2, gamma of burstiness 1", 0},
		{Timetable{Offsets: make([]time.Duration, 5), Speed: 2.5}, "request_rate", "0.0", "schedule of 5 requests, 2.5 times as fast", 0},
		{Rate{PerSecond: 1.0 / 3}, "request_rate", "0.3333333333333333", "request rate 0.333333", 0},
		{Rate{PerSecond: 1e6}, "request_rate", "1000000.0", "request rate 1e+06", 0},
		// perf_analyzer writes 8.0 here.
		{Intervals{Gaps: []time.Duration{100 * time.Millisecond, 110 * time.Millisecond, 130 * time.Millisecond}}, "request_rate", "8.823529411764705", "3 intervals, 8.82353 requests/s", 0},
		{Intervals{Gaps: []time.Duration{time.Second}, Speed: 4, Ceiling: 1}, "request_rate", "4.0", "1 interval, 4 requests/s, at most 1 in flight", 1},
		{Timetable{Offsets: make([]time.Duration, 5), Ceiling: 2}, "request_rate", "0.0", "schedule of 5 requests, at most 2 in flight", 2},
	} {
		l := tt.level
		if l.Mode() != tt.mode || l.Value() != tt.value || l.String() != tt.text || l.Slots() != tt.slots {
			t.Errorf("%#v: %s %s, %q, %d slots; want %s %s, %q, %d", l, l.Mode(), l.Value(), l.String(), l.Slots(), tt.mode, tt.value, tt.text, tt.slots)
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		level Level
		want  string // "" for a valid level
	}{
		{Concurrency{}, "concurrency 0: must be at least 1"},
		{Concurrency{N: 1, RampUp: -1}, "ramp-up -1ns"},
		{Sessions{}, "session concurrency 0: must be at least 1"},
		{Periodic{0, 1, 1, 1}, "the start must be at least 1"},
		{Periodic{4, 3, 1, 1}, "the end is before the start"},
		{Periodic{1, 3, 0, 1}, "the step must be at least 1"},
		{Periodic{1, 10, 4, 1}, "the steps from the start do not meet the end"},
		{Periodic{1, 3, 1, 0}, "request period 0: must be at least 1"},
		{Periodic{3, 3, 1, 1}, ""},
		{Rate{}, "request rate 0: must be above 0"},
		{Rate{PerSecond: math.NaN()}, "request rate NaN"},
		{Rate{PerSecond: math.Inf(1)}, "request rate +Inf"},
		{Rate{PerSecond: 1, Arrivals: 9}, "unknown distribution Arrivals(9)"},
		{Rate{PerSecond: 1, Burstiness: 2}, "burstiness 2: only the gamma distribution has one, not constant"},
		{Rate{PerSecond: 1, Burstiness: -2, Arrivals: Gamma}, "burstiness -2: must be 0.01 to 1000000"},
		{Rate{PerSecond: 1, RampUp: -1}, "ramp-up"},
		{Rate{PerSecond: 1, Ceiling: -1}, "ceiling of -1 requests"},
		{Intervals{}, "no intervals"},
		{Intervals{Gaps: []time.Duration{1, -1}}, "interval 2: -1ns is negative"},
		{Intervals{Gaps: []time.Duration{0}}, "the intervals ask for +Inf requests per second"},
		{Intervals{Gaps: []time.Duration{time.Second}, Speed: -1}, "speed-up -1"},
		{Timetable{}, "the schedule has no requests"},
		{Timetable{Offsets: []time.Duration{2, 1}}, "not in order: request 2 is due at 1ns, the previous request at 2ns"},
		{Timetable{Offsets: []time.Duration{1}, Speed: math.NaN()}, "speed-up NaN"},
	} {
		err := tt.level.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%#v: %v, want %q", tt.level, err, tt.want)
		}
	}
}

func TestParseArrivals(t *testing.T) {
	if got := Drawn("and"); got != "poisson and gamma" {
		t.Errorf("drawn are %s", got)
	}
	for _, a := range []Arrivals{Constant, Poisson, Gamma} {
		if got, err := ParseArrivals(a.String()); got != a || err != nil {
			t.Errorf("ParseArrivals(%q) = %v, %v", a, got, err)
		}
	}
	if _, err := ParseArrivals("uniform"); err == nil || !strings.Contains(err.Error(), `"uniform"; expected constant, poisson or gamma`) {
		t.Errorf("error %v", err)
	}
}

// TestConcurrencyRamp checks that the slots of a ramp begin at equal distances, the first one at
// once.
func TestConcurrencyRamp(t *testing.T) {
	c := Concurrency{N: 4, RampUp: 2 * time.Second}
	for i, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
		if got := c.Begin(i); got != want {
			t.Errorf("slot %d begins at %v, want %v", i, got, want)
		}
	}
	if got := (Concurrency{N: 4}).Begin(3); got != 0 {
		t.Errorf("without a ramp the last slot begins at %v", got)
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		level Level
		want  Traits
	}{
		{Concurrency{N: 4}, Traits{Amount: 4, AtOnce: 4, WarmupSlots: 4, Plain: true}},
		{Concurrency{N: 4, RampUp: time.Second}, Traits{Amount: 4, WarmupSlots: 4, RampUp: time.Second, Plain: true}},
		{Sessions{N: 3}, Traits{Amount: 3, AtOnce: 3, Midway: true, PlaysData: true, Conversations: true, Stateless: needsSlots}},
		{SessionRequests{N: 3, RampUp: time.Second}, Traits{Amount: 3, RampUp: time.Second, PlaysData: true, Conversations: true, Stateless: needsSlots}},
		{SessionRate{Rate{PerSecond: 2.5, Arrivals: Poisson}}, Traits{PerSecond: 2.5, PlaysData: true, Conversations: true, Stateless: needsSlots}},
		{SessionTimetable{Timetable{Offsets: []time.Duration{0, time.Second}}}, Traits{PerSecond: 2, Instants: 2, PlaysData: true, Conversations: true, Stateless: needsSlots}},
		{Periodic{Start: 2, End: 8, Step: 3, Period: 5}, Traits{
			AtOnce: 3, WarmupSlots: 2, Requests: 8, Stateless: needsSlots,
			Whole: "the steps follow the responses of all requests, and no rank has these",
		}},
		{Rate{PerSecond: 2.5}, Traits{Amount: 2.5, PerSecond: 2.5, Plain: true}},
		{Rate{PerSecond: 2.5, Ceiling: 9, RampUp: time.Second}, Traits{Amount: 2.5, PerSecond: 2.5, RampUp: time.Second}},
		{Rate{PerSecond: 2.5, Arrivals: Poisson}, Traits{Amount: 2.5, PerSecond: 2.5}},
		{Intervals{Gaps: []time.Duration{time.Second, 3 * time.Second}, Speed: 2}, Traits{Amount: 1, PerSecond: 1}},
		{Timetable{Offsets: []time.Duration{0, time.Second}}, Traits{PerSecond: 2, Instants: 2, PlaysData: true, Stateless: "the entries of a schedule are in no sequences"}},
	} {
		if got := tt.level.Traits(); got != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.level, got, tt.want)
		}
	}
}

// Levels that play sessions name themselves and their mistakes, and say what excludes them.
func TestSessionLevels(t *testing.T) {
	t.Parallel()
	timetable := SessionTimetable{Timetable{Offsets: []time.Duration{0, time.Second}, Speed: 2, Ceiling: 1}}
	for _, tt := range []struct {
		level             Level
		by                Settings
		mode, value, name string
		invalid, excluded string
	}{
		{Sessions{N: 3}, Settings{Entries: 9}, "request_rate", "0.0", "session concurrency 3", "", ""},
		{Sessions{}, Settings{Entries: 9, Warmup: 9}, "request_rate", "0.0", "session concurrency 0", "session concurrency 0: must be at least 1", "session concurrency 0: a warm-up of 9 leaves nothing to measure"},
		{Sessions{N: 3}, Settings{Entries: 9, Warmup: 9, Counted: true}, "request_rate", "0.0", "session concurrency 3", "", ""},
		{SessionRequests{N: 3}, Settings{Entries: 9, NoChat: true}, "concurrency", "3", "concurrency 3 of sessions", "", "concurrency 3 of sessions: sessions need the chat endpoint of an OpenAI-compatible server"},
		{SessionRequests{}, Settings{Entries: 9, Batched: true}, "concurrency", "0", "concurrency 0 of sessions", "concurrency 0: must be at least 1", "concurrency 0 of sessions: cannot be combined with batches"},
		{SessionRate{Rate{PerSecond: 2, Ceiling: 4}}, Settings{Entries: 9, Times: true}, "request_rate", "0.0", "session rate 2, at most 4 sessions in flight", "", "session rate 2, at most 4 sessions in flight: a request count in times of the level needs a rate of requests, and this one is of sessions; give a number"},
		{SessionRate{Rate{Arrivals: Poisson}}, Settings{Entries: 9, Timed: true}, "request_rate", "0.0", "session rate 0, poisson", "session rate 0: must be above 0 and at most 10000000 per second", ""},
		{timetable, Settings{Entries: 9, Sessions: 2}, "request_rate", "0.0", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight", "", ""},
		{timetable, Settings{Entries: 9, Sessions: 3}, "request_rate", "0.0", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight", "", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight: expected as many sessions, found 3"},
		{timetable, Settings{Entries: 9, Order: "shuffled"}, "request_rate", "0.0", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight", "", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight: its sessions have an order; drop the order shuffled"},
		{timetable, Settings{Entries: 9, Counted: true}, "request_rate", "0.0", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight", "", "schedule of 2 sessions, 2 times as fast, at most 1 session in flight: cannot be combined with a request count"},
	} {
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		l := tt.level
		if l.Mode() != tt.mode || l.Value() != tt.value || l.String() != tt.name || text(l.Validate()) != tt.invalid || text(l.Excluded(tt.by)) != tt.excluded {
			t.Errorf("%s %s %q, mistake %q, excluded %q; want %s %s %q, %q, %q", l.Mode(), l.Value(), l, text(l.Validate()), text(l.Excluded(tt.by)), tt.mode, tt.value, tt.name, tt.invalid, tt.excluded)
		}
	}
}
