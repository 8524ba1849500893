//go:build unix

package testenv

import (
	"errors"
	"syscall"
	"testing"
)

// Pipe makes a named pipe that no process reads, and returns its path.
func Pipe(t testing.TB, path string) string {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// FillPipe fills the named pipe at path, and opens it for reading until the end of the test
// without reading anything. It returns the path.
func FillPipe(t testing.TB, path string) string {
	t.Helper()
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := syscall.Write(fd, block); errors.Is(err, syscall.EAGAIN) {
			block = block[:len(block)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return path
}
