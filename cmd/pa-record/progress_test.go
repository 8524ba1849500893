package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/internal/runindex"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// The display of progress follows --ui and --quiet.
func TestProgressKind(t *testing.T) {
	snapshot := recorder.Progress{Levels: 1, Load: load.Concurrency{N: 2}, Elapsed: time.Second}
	for _, tt := range []struct {
		name     string
		settings settings.Settings
		shown    bool
		redrawn  bool
	}{
		{"auto", settings.Settings{UI: settings.UIAuto}, true, true},
		{"plain", settings.Settings{UI: settings.UIPlain}, true, false},
		{"none", settings.Settings{UI: settings.UINone}, false, false},
		{"quiet", settings.Settings{UI: settings.UIAuto, Quiet: true}, false, false},
	} {
		var out strings.Builder
		m := repeatedRun{stderr: &out, env: environment{getenv: func(string) string { return "" }, columns: func() int { return 80 }}}
		show := m.progress(&tt.settings, runindex.Index{}).Callback()
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
