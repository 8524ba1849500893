package spool

import (
	"bytes"
	"testing"
)

// However much is written, no more than MaxBufferMemory stays in memory, and all of it
// comes out again.
func TestBufferMemory(t *testing.T) {
	s := Buffer{Dir: t.TempDir(), What: "the test's lines"}
	var want, got bytes.Buffer
	line := bytes.Repeat([]byte("0123456789"), 700)
	for want.Len() <= 3*MaxBufferMemory {
		if _, err := s.Write(line); err != nil {
			t.Fatal(err)
		}
		want.Write(line)
		if len(s.buf) > MaxBufferMemory {
			t.Fatalf("%d bytes are in memory, want at most %d", len(s.buf), MaxBufferMemory)
		}
	}
	if s.Len() != int64(want.Len()) {
		t.Errorf("Len = %d after %d bytes", s.Len(), want.Len())
	}
	if err := s.MoveTo(&got); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) || s.Len() != 0 {
		t.Errorf("MoveTo: %v; %d of %d bytes, %d left", err, got.Len(), want.Len(), s.Len())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
