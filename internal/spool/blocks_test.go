package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Blocks beyond the bound go to a file, which is gone after Close. A file that became shorter is an error.
func TestBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := NewBlocks(250, dir, "numbers")
	var all []Block
	for i := range 10 {
		all = append(all, s.Keep(bytes.Repeat([]byte{byte(i)}, 100), 3))
	}
	all = append(all, s.Keep(nil, 3))
	if memory, file := s.Used(); memory != 200 || file != 800 {
		t.Errorf("%d bytes in memory and %d in the file, want 200 and 800", memory, file)
	}
	var buf []byte
	for i := range all {
		got := s.Bytes(&all[i], buf, 3)
		if all[i].InFile() {
			buf = got
		}
		want := bytes.Repeat([]byte{byte(i)}, 100)
		if i == len(all)-1 {
			want = nil
		}
		if !bytes.Equal(got, want) || want != nil && cap(got) < 103 {
			t.Errorf("block %d is %v with room for %d", i, got, cap(got))
		}
	}
	s.Release(&all[0])
	if memory, _ := s.Used(); memory != 100 {
		t.Errorf("%d bytes in memory after Release, want 100", memory)
	}
	if err := s.file.Truncate(150); err != nil {
		t.Fatal(err)
	}
	if got := s.Bytes(&all[9], buf, 0); !bytes.Equal(got, make([]byte, 100)) {
		t.Errorf("lost block is %v", got)
	}
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "read numbers back from the temporary file") {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// Without a file, all blocks stay in memory.
func TestBlocksWithoutFile(t *testing.T) {
	t.Parallel()
	s := NewBlocks(10, filepath.Join(t.TempDir(), "missing"), "numbers")
	b := s.Keep(make([]byte, 20), 0)
	if b.InFile() || len(s.Bytes(&b, nil, 0)) != 20 {
		t.Error("the block is lost")
	}
	if err := s.Full(); err == nil || !strings.Contains(err.Error(), "keep numbers in a temporary file") || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("error %v", err)
	}
}
