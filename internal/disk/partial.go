package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// partialSuffix ends the name of a file that is being written.
const partialSuffix = ".pa-partial"

// maxPartials bounds how many processes write one path at the same time.
const maxPartials = 100

// partialName returns the name of a temporary file of target: NAME.pa-partial, and
// NAME.2.pa-partial for the second process that writes target at the same time.
func partialName(target string, n int) string {
	if n == 1 {
		return target + partialSuffix
	}
	return fmt.Sprintf("%s.%d%s", target, n, partialSuffix)
}

// createPartial creates and locks a temporary file of target, and removes the ones that
// killed processes left.
func createPartial(target string, perm fs.FileMode) (*os.File, error) {
	var made *os.File
	for n := 1; n <= maxPartials; n++ {
		name := partialName(target, n)
		if _, err := os.Lstat(name); err == nil {
			removeLeftover(name)
		} else if made != nil {
			return made, nil // no process had more of them at the same time
		}
		if made != nil {
			continue
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, perm)
		switch {
		case errors.Is(err, fs.ErrExist): // another process writes it
		case err != nil:
			return nil, err
		case TryLock(f) == Busy || !IsAt(f, name): // another process took it for left over
			_ = f.Close()
		default:
			made = f
		}
	}
	if made == nil {
		return nil, &OutputError{target, fmt.Errorf("%d files such as %s are in the way; remove them", maxPartials, partialName(target, 1))}
	}
	return made, nil
}
