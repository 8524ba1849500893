package journal

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// A blockedDisk takes a block each time it is let, and then keeps it.
type blockedDisk struct {
	let     chan struct{} // closed: no more waiting
	entered chan struct{} // a value for each Write that has begun

	mu  sync.Mutex
	got []byte
	err error
}

func newBlockedDisk() *blockedDisk {
	return &blockedDisk{let: make(chan struct{}), entered: make(chan struct{}, 1<<16)}
}

func (d *blockedDisk) Write(b []byte) (int, error) {
	d.entered <- struct{}{}
	<-d.let
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return 0, d.err
	}
	d.got = append(d.got, b...)
	return len(b), nil
}

func (d *blockedDisk) fail(err error) {
	d.mu.Lock()
	d.err = err
	d.mu.Unlock()
}

// A disk that stands still keeps nobody waiting; what waits is counted, and
// written in its order when the disk moves again.
func TestDiskQueue(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	var want []byte
	scratch := make([]byte, 0, 64)
	for i := range 1000 {
		scratch = fmt.Appendf(scratch[:0], "block %d\n", i) // the caller's memory is used again
		want = append(want, scratch...)
		if n, err := q.Write(scratch); n != len(scratch) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
		if got := q.Waiting(); got != int64(len(want)) {
			t.Fatalf("%d bytes wait after block %d, want %d", got, i, len(want))
		}
	}
	<-disk.entered
	disk.let <- struct{}{} // one block
	<-disk.entered         // it is done when the next has begun
	if got := q.Waiting(); got != int64(len(want)-len("block 0\n")) {
		t.Errorf("%d bytes wait after one block of %d bytes is written", got, len(want))
	}
	close(disk.let)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(disk.got, want) || q.Waiting() != 0 {
		t.Errorf("%d bytes written, %d wait; want all %d in order", len(disk.got), q.Waiting(), len(want))
	}
	if w := q.Written(); w != (extent{blocks: 1000, bytes: int64(len(want))}) {
		t.Errorf("written %+v, want all", w)
	}
	if _, err := q.Write([]byte("x")); !errors.Is(err, errQueueClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// A disk that fails is not written to again, and forgets what waits.
func TestDiskQueueFails(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	for range 3 {
		if _, err := q.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	<-disk.entered
	disk.let <- struct{}{}
	<-disk.entered // of the second
	full := errors.New("no space left on device")
	disk.fail(full)
	close(disk.let)
	if err := q.Close(); !errors.Is(err, full) {
		t.Fatalf("Close: %v, want the disk's error", err)
	}
	if _, err := q.Write([]byte("x")); !errors.Is(err, full) {
		t.Errorf("Write: %v, want the disk's error", err)
	}
	if w := q.Written(); w != (extent{blocks: 1, bytes: 3}) {
		t.Errorf("written %+v, want the first block alone", w)
	}
	if string(disk.got) != "abc" || len(disk.entered) != 0 || q.Waiting() != 0 {
		t.Errorf("%q is written, %d bytes wait; want the first block alone", disk.got, q.Waiting())
	}
}
