package journal

import (
	"os"
	"path/filepath"
)

// PartialPath returns the name under which the export at path is written until it is complete.
// ok is false for a pipe or a device, which is written in place.
func PartialPath(path string) (partial string, ok bool) {
	target := targetOf(path)
	return target + partialSuffix, !isSpecial(target)
}

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

// targetOf returns the path of an export with symbolic links resolved.
func targetOf(path string) string {
	if t, err := filepath.EvalSymlinks(path); err == nil {
		return t
	}
	return filepath.Clean(path)
}

// isSpecial reports whether path names a pipe, a device or a folder.
func isSpecial(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular()
}
