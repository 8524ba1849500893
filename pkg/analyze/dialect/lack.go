package dialect

import "github.com/pa-tools/pa/pkg/export"

// Lacking says why what needs all of these parts cannot be had of a run: it was
// read from a file that does not hold one of them. "" when nothing is lacking.
func Lacking(run *export.Run, parts ...export.Part) string {
	for _, p := range parts {
		if why, lacks := run.Lacks(p); lacks {
			return why
		}
	}
	return ""
}
