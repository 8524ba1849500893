package dialect

import (
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// Hints returns the run's analysis hints for the dialect of that name, of any release. It
// returns nil if the hints name another tool. named reports whether they name this tool.
// Hints that name no tool may use any tool's words, so a dialect skips hints that it
// cannot read, with a warning.
func Hints(run *export.Run, name string) (hints map[string]string, named bool) {
	if run.Meta == nil {
		return nil, false
	}
	hints = run.Meta.AnalysisHints
	own, _, _ := strings.Cut(name, "-")
	asked, _, _ := strings.Cut(hints["dialect"], "-")
	switch asked {
	case "":
		return hints, false
	case own:
		return hints, true
	}
	return nil, false
}
