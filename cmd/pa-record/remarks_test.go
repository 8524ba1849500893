package main

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// Warnings about the same subject on several levels are one line; other warnings, and
// warnings with numbers that cannot be added, keep a line for each level.
func TestPrintWarnings(t *testing.T) {
	const together = " arrived together with the previous one, so their gaps are unknown; either the server sends them together or this machine is overloaded: try a lower load"
	level := func(n int, failed int, warnings ...string) recorder.Level {
		return recorder.Level{Load: load.Concurrency{N: n}, OK: 9, Failed: failed, Warnings: warnings}
	}
	for _, tt := range []struct {
		name   string
		levels []recorder.Level
		want   []string
	}{
		{"none", []recorder.Level{level(1, 0)}, nil},
		{"one level", []recorder.Level{level(1, 0, "20 of 640 tokens"+together)}, []string{"concurrency 1: 20 of 640 tokens" + together}},
		{
			"counts add up",
			[]recorder.Level{level(1, 0, "20 of 640 tokens"+together), level(2, 0), level(4, 0, "1,000 of 1,280 tokens"+together)},
			[]string{"concurrency 1, concurrency 4: 1,020 of 1,920 tokens" + together},
		},
		{
			"every level",
			[]recorder.Level{level(1, 0, "20 of 640 tokens"+together), level(2, 0, "1 of 60 tokens"+together)},
			[]string{"both levels: 21 of 700 tokens" + together},
		},
		{"the same text", []recorder.Level{level(1, 0, "slow disk"), level(2, 0, "slow disk")}, []string{"both levels: slow disk"}},
		{"numbers that cannot be added", []recorder.Level{level(1, 0, "slow by 3 ms"), level(2, 0, "slow by 4 ms")}, []string{"concurrency 1: slow by 3 ms", "concurrency 2: slow by 4 ms"}},
		{
			"many levels",
			[]recorder.Level{level(1, 0, "slow disk"), level(2, 0, "slow disk"), level(3, 0, "slow disk"), level(4, 0, "slow disk"), level(5, 0, "slow disk"), level(6, 0)},
			[]string{"5 of 6 levels: slow disk"},
		},
		{
			"one rate",
			[]recorder.Level{level(1, 0, export.SentWarning(12, 10.02)), level(2, 0)},
			[]string{"concurrency 1: 10.02 requests/s were sent, 16.5 % below the named rate of 12; compare levels by the rate that was sent"},
		},
		{
			"several rates",
			[]recorder.Level{level(1, 0, export.SentWarning(12, 10.02)), level(2, 0, export.SentWarning(15, 12.6))},
			[]string{"both levels: the requests/s that were sent are more than 5 % off the named rates; compare levels by the rate that was sent"},
		},
		{
			"a search, which measures other levels in between",
			[]recorder.Level{level(1, 0, "slow disk"), level(32, 0, "slow disk"), level(8, 0, "slow disk"), level(16, 0)},
			[]string{"concurrency 1, concurrency 8, concurrency 32: slow disk"},
		},
		{"twice on a level", []recorder.Level{level(1, 0, "slow disk", "slow disk"), level(2, 0)}, []string{"concurrency 1: slow disk", "concurrency 1: slow disk"}},
		{
			"failures",
			[]recorder.Level{level(1, 1), level(2, 2)},
			[]string{"concurrency 1: 1 of 10 requests failed; pa-analyze report shows why", "concurrency 2: 2 of 11 requests failed; pa-analyze report shows why"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b, want strings.Builder
			printLevelWarnings(&b, runIndex{}, tt.levels)
			for _, w := range tt.want {
				want.WriteString("pa-record: warning: " + w + "\n")
			}
			if b.String() != want.String() {
				t.Errorf("printed\n%swant\n%s", b.String(), want.String())
			}
		})
	}
}

// An automatic sweep prints a note if it was not interrupted and measured only two levels.
func TestSweepNote(t *testing.T) {
	const want = "3 requests at a time gave hardly more requests/s than one, so there are no rates in between to measure"
	sweep := &levelSettings{sweepConcurrency: 3}
	for _, tt := range []struct {
		name string
		s    *levelSettings
		res  recorder.Result
		want string
	}{
		{"nothing between", sweep, recorder.Result{Levels: make([]recorder.Level, 2)}, want},
		{"interrupted", sweep, recorder.Result{Levels: make([]recorder.Level, 2), Interrupted: true}, ""},
		{"a whole sweep", sweep, recorder.Result{Levels: make([]recorder.Level, 10)}, ""},
		{"no sweep", &levelSettings{levels: 2}, recorder.Result{Levels: make([]recorder.Level, 2)}, ""},
	} {
		if got := sweepNote(tt.s, &tt.res); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
