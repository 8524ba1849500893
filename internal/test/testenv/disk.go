package testenv

import "errors"

// ErrFull is the error of a full disk.
var ErrFull = errors.New("no space left on device")

// A FullDisk takes Room more bytes, and then fails with ErrFull.
type FullDisk struct{ Room int }

// Write implements io.Writer.
func (d *FullDisk) Write(b []byte) (int, error) {
	if len(b) > d.Room {
		return d.Room, ErrFull
	}
	d.Room -= len(b)
	return len(b), nil
}
