package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// CheckFolder returns an error if folder, in which a file will be written, does not
// exist or is not a folder.
func CheckFolder(folder string) error {
	st, err := os.Stat(folder)
	var pe *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist", folder)
	case errors.As(err, &pe):
		return fmt.Errorf("the folder %s: %w", folder, pe.Err)
	case err == nil && !st.IsDir():
		return fmt.Errorf("%s is a file, not a folder", folder)
	}
	return nil
}
