package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// The display of progress follows --ui and --quiet.
func TestProgressKind(t *testing.T) {
	snapshot := recorder.Progress{Levels: 1, Load: load.Concurrency{N: 2}, Elapsed: time.Second}
	for _, tt := range []struct {
		name     string
		settings settings
		shown    bool
		redrawn  bool
	}{
		{"auto", settings{ui: uiAuto}, true, true},
		{"plain", settings{ui: uiPlain}, true, false},
		{"none", settings{ui: uiNone}, false, false},
		{"quiet", settings{ui: uiAuto, quiet: true}, false, false},
	} {
		var out strings.Builder
		m := repeatedRun{stderr: &out, env: environment{getenv: func(string) string { return "" }, columns: func() int { return 80 }}}
		show := m.progress(&tt.settings, runIndex{}).Callback()
		if (show != nil) != tt.shown {
			t.Errorf("%s: shown: %v, want %v", tt.name, show != nil, tt.shown)
		}
		if show != nil {
			show(snapshot)
		}
		if got := out.Len() > 0 && !strings.HasSuffix(out.String(), "\n"); got != tt.redrawn {
			t.Errorf("%s: redrawn: %v, want %v; %q", tt.name, got, tt.redrawn, &out)
		}
	}
}
