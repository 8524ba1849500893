package dialect

import (
	"strings"

	"github.com/pa-tools/pa/pkg/export"
)

// Hints returns what the run says about its report that is for the dialect of
// that name, whatever its release: its hints if they name that tool, or none.
// named says that they do. Hints that name no tool may be in the words of any, so
// what a dialect cannot read of them is left out, and a warning says so.
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
