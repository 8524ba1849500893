package dialect

import "github.com/pa-tools/pa/pkg/export"

// Lacking returns the reason why the file of a run does not hold one of the parts; ""
// if it holds them all.
func Lacking(run *export.Run, parts ...export.Part) string {
	for _, p := range parts {
		if why, lacks := run.Lacks(p); lacks {
			return why
		}
	}
	return ""
}
