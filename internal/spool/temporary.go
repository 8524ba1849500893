package spool

import (
	"errors"
	"os"
)

// A temporary is a temporary file that is gone when it is closed. Where the system removes
// open files it has no name, so that it goes even if the process is killed.
type temporary struct {
	*os.File

	name string // to be removed on Close; "" when the file has no name any more
}

// createTemporary creates a file for reading and writing in dir; "" is the system's folder
// for temporary files. pattern is as in [os.CreateTemp].
func createTemporary(dir, pattern string) (*temporary, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	t := &temporary{File: f, name: f.Name()}
	if os.Remove(t.name) == nil {
		t.name = ""
	}
	return t, nil
}

// Close closes and removes the file.
func (t *temporary) Close() error {
	err := t.File.Close()
	if t.name != "" {
		err = errors.Join(err, os.Remove(t.name))
	}
	return err
}
