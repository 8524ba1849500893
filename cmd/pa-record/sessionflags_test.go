package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
)

// A run that does not follow the rules of a scenario has the exit code of a gate, and says why.
func TestSubmissionGate(t *testing.T) {
	for _, tt := range []struct {
		v     *export.Submission
		code  int
		shown string
	}{
		{nil, 0, ""},
		{&export.Submission{Scenario: "agentx", Valid: true}, 0, "agentx: submission valid\n"},
		{&export.Submission{Scenario: "agentx", Reasons: []string{"a", "b"}}, cmdline.ExitGate, "agentx: submission not valid: a; b\n"},
	} {
		code := 0
		var coded *cmdline.CodeError
		if err := gate(&recorder.Result{Submission: tt.v}); errors.As(err, &coded) {
			code = coded.Code
		}
		var w strings.Builder
		if printSubmission(&w, runIndex{}, tt.v); code != tt.code || w.String() != tt.shown {
			t.Errorf("%+v: exit code %d, %q; want %d, %q", tt.v, code, w.String(), tt.code, tt.shown)
		}
	}
}

// Each run has markers of its own.
func TestMarkerOfRuns(t *testing.T) {
	s := parseFor(t, strings.Fields("-u sim:// --num-sessions 2 --session-concurrency 1 --cache-bust first-turn-prefix --cache-salt mine")...)
	first, second := s.markerOf(0), s.markerOf(1)
	if first.Salt != "mine.1" || second.Salt != "mine.2" || s.CacheSalt != "" {
		t.Errorf("salts %q and %q, beginnings %q", first.Salt, second.Salt, s.CacheSalt)
	}
}
