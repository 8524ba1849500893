package journal

import (
	"os"
	"path/filepath"

	"github.com/pa-tools/pa/internal/outfile"
)

// PathForAll returns the path of the journal of these exports. ok is false if all of them are
// pipes and devices: their journal has a temporary name.
func PathForAll(exports []string) (path string, ok bool) {
	for _, e := range exports {
		if target := targetOf(e); !isSpecial(target) {
			return PathFor(target), true
		}
	}
	return "", false
}

// targetOf returns the path of an export with symbolic links resolved, as Export.check does.
func targetOf(path string) string {
	if target, err := outfile.Resolve(path); err == nil && !isSpecial(path) {
		return target
	}
	return filepath.Clean(path)
}

// isSpecial reports whether path names a pipe, a device or a folder.
func isSpecial(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular()
}
