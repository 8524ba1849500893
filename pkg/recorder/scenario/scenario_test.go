package scenario

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// given are flags with their values.
type given map[string]string

func (g given) Given(flag string) bool   { _, ok := g[flag]; return ok }
func (g given) Value(flag string) string { return g[flag] }
func (g given) Set(flag, value string) error {
	g[flag] = value
	return nil
}

func agentx(t *testing.T) *Scenario {
	t.Helper()
	s, err := Parse("agentx")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestApply(t *testing.T) {
	flags := given{"duration": "20m0s", "random-seed": "7", "streaming": "true"}
	if err := agentx(t).Apply(flags); err != nil {
		t.Fatal(err)
	}
	want := given{
		"streaming": "true", "session-delays": "recorded", "session-idle-cap": "10s", "cache-bust": "first-turn-prefix",
		"session-start-ratio": "0:1", "duration": "20m0s", "random-seed": "7", "on-session-failure": "continue",
	}
	if !maps.Equal(flags, want) {
		t.Errorf("flags %v, want %v", flags, want)
	}
	for flag, value := range map[string]string{
		"streaming": "false", "output-tokens": "5", "session-delays": "none", "session-delay-ratio": "1", "session-idle-cap": "20s", "cache-bust": "none",
		"request-count": "5", "on-session-failure": "stop",
	} {
		err := agentx(t).Apply(given{flag: value})
		if err == nil || !strings.Contains(err.Error(), "--"+flag) || !strings.Contains(err.Error(), "contradicts it") {
			t.Errorf("--%s %s: error %v", flag, value, err)
		}
	}
	if _, err := Parse("other"); err == nil {
		t.Error("another scenario is taken")
	}
}

func TestCheck(t *testing.T) {
	s := agentx(t)
	for _, tt := range []struct {
		levels   []int
		duration time.Duration
		ok       bool
	}{
		{[]int{4}, 15 * time.Minute, true},
		{[]int{4}, 15*time.Minute - 1, false},
		{[]int{4, 8}, time.Hour, false},
		{nil, time.Hour, false},
	} {
		if err := s.Check(tt.levels, tt.duration); (err == nil) != tt.ok {
			t.Errorf("%v for %v: %v", tt.levels, tt.duration, err)
		}
	}
	if s.CheckData(3, 3) != nil || s.CheckData(3, 4) == nil {
		t.Error("as many sessions as slots are refused, or fewer are not")
	}
	if s.Wraps = true; s.CheckData(3, 4) != nil {
		t.Error("fewer sessions than slots are refused")
	}
}

func TestJudge(t *testing.T) {
	level := func(change func(l *recorder.Level)) *recorder.Result {
		l := recorder.Level{
			OK: 950, Failed: 20, Warmup: 30, Overflowed: 10, Sessions: &export.SessionCounts{}, Prompts: &export.LevelPrompts{Conversations: 5, Of: 5},
			Windows: []window.Window{{StartNS: 1, EndNS: 1 + uint64(900*time.Second)}},
		}
		change(&l)
		return &recorder.Result{Levels: []recorder.Level{l}}
	}
	same := func(*recorder.Level) {}
	for _, tt := range []struct {
		name string
		res  *recorder.Result
		err  error
		want []string
	}{
		{"valid", level(same), nil, nil},
		{"overflows", level(func(l *recorder.Level) { l.Overflowed = 11 }), nil, []string{"11 of 1,000 requests did not fit into the context of the model, more than 1 %"}},
		{"priming", level(func(l *recorder.Level) { l.Sessions.Unprimed = 2 }), nil, []string{"2 requests before the measurement failed"}},
		{"wrap", level(func(l *recorder.Level) { l.Prompts.Conversations = 6 }), nil, []string{"the input data has only 5 sessions, and began again (--allow-dataset-wrap allows it)"}},
		{"short", level(func(l *recorder.Level) { l.Windows[0].EndNS -= 1e9 }), nil, []string{"only 14m59s were measured, less than 15m0s"}},
		{"an error", level(same), errors.New("no"), []string{"the run ended early: no"}},
		{"nothing", &recorder.Result{Interrupted: true}, nil, []string{"the run was interrupted", "nothing was measured"}},
	} {
		got := agentx(t).Judge(tt.res, tt.err)
		if !slices.Equal(got.Reasons, tt.want) || got.Valid != (len(tt.want) == 0) {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
	}
	s := agentx(t)
	s.Wraps = true
	if got := s.Judge(level(func(l *recorder.Level) { l.Prompts.Conversations = 6 }), nil); !got.Valid {
		t.Errorf("an allowed wrap is not valid: %q", got.Reasons)
	}
}
