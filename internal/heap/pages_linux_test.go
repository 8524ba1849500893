package heap

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A loader writes pointers into a private mapping of the program's file before it makes it read-only.
func TestDropProgramPagesKeepsWhatTheLoaderWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	size := os.Getpagesize()
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	mapped[0] = 7
	if err := unix.Mprotect(mapped, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	dropProgramPages()
	if mapped[0] != 7 {
		t.Errorf("the page holds %d as the file does, want the 7 that was written to it", mapped[0])
	}
}

// Pages of a file that nobody changed leave the memory of the process.
func TestDropProgramPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	const size = 8 << 20
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mapped, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	before := filePages(t)
	dropProgramPages()
	if after := filePages(t); after > before-size/2/os.Getpagesize() {
		t.Errorf("%d pages of files in memory, %d before", after, before)
	}
}

// filePages returns the number of pages of files in the memory of this process.
func filePages(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%d %d %d", new(int), new(int), &n)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}
