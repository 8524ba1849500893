package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
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

// block returns a buffer with a note and without room for another one, the first one with the start of a log.
func block(i int) []byte {
	b := recordlog.Note(fmt.Sprintf("block %d", i))
	if i > 0 {
		return slices.Clip(b)
	}
	var first bytes.Buffer
	w, err := recordlog.NewWriter(recordlog.To(&first), nil)
	if err := errors.Join(err, w.Flush()); err != nil {
		panic(err)
	}
	return slices.Concat(first.Bytes(), b)
}

// A disk that stands still keeps nobody waiting; what waits is counted, and
// written in its order when the disk moves again.
func TestDiskQueue(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	var want recordlog.Prefix
	for i := range 1000 {
		b := block(i)
		want.Add(bytes.Clone(b), nil)
		if empty, err := q.Take(b); len(empty) != 0 || err != nil {
			t.Fatalf("Take = %d bytes, %v", len(empty), err)
		}
		if got := q.State().waiting; got != want.Bytes {
			t.Fatalf("%d bytes wait after block %d, want %d", got, i, want.Bytes)
		}
	}
	<-disk.entered
	disk.let <- struct{}{} // one block
	<-disk.entered         // it is done when the next has begun
	if got := q.State().waiting; got != want.Bytes-int64(len(block(0))) {
		t.Errorf("%d bytes wait after one block of %d bytes is written", got, want.Bytes)
	}
	close(disk.let)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if len(disk.got) != int(want.Bytes) || q.State().waiting != 0 || q.State().written != want {
		t.Errorf("%d bytes written, %d wait, %+v; want %+v", len(disk.got), q.State().waiting, q.State().written, want)
	}
	requireBlocks(t, disk.got, 1000)
	if _, err := q.Take([]byte("x")); !errors.Is(err, errQueueClosed) {
		t.Errorf("Take after Close: %v", err)
	}
	if err := q.Close(); err != nil {
		t.Errorf("Close again: %v", err)
	}
}

// requireBlocks checks that a log has the blocks 0 to n−1 in this order.
func requireBlocks(t *testing.T, log []byte, n int) {
	t.Helper()
	r, err := recordlog.Format().Open(t.Context(), "x", bytes.NewReader(log), int64(len(log)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	notes := r.Run().Meta.Warnings
	for i := range notes {
		if notes[i] != fmt.Sprintf("block %d", i) {
			t.Fatalf("block %d is %q", i, notes[i])
		}
	}
	if len(notes) != n {
		t.Errorf("%d blocks, want %d", len(notes), n)
	}
}

// While a disk stands still, the buffers of many flushes take little more memory than their bytes.
func TestSmallBuffers(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	const flushes, room = 1000, 64 << 10
	buf := make([]byte, 0, room)
	for i := range flushes {
		buf = append(buf, block(i)...)
		if cap(buf) < room {
			buf = append(make([]byte, 0, room), buf...)
		}
		var err error
		if buf, err = q.Take(buf); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-disk.entered
		}
	}
	q.mu.Lock()
	held := 0
	for _, b := range q.buffers {
		held += cap(b)
	}
	q.mu.Unlock()
	if most := int(q.State().waiting) + room; held > most {
		t.Errorf("%d bytes of memory for %d bytes that wait, want at most %d", held, q.State().waiting, most)
	}
	close(disk.let)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	requireBlocks(t, disk.got, flushes)
}

// A disk that fails is not written to again, and forgets what waits.
func TestDiskQueueFails(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	for i := range 3 {
		if _, err := q.Take(block(i)); err != nil {
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
	if _, err := q.Take(block(3)); !errors.Is(err, full) {
		t.Errorf("Take: %v, want the disk's error", err)
	}
	var want recordlog.Prefix
	want.Add(block(0), nil)
	if w := q.State().written; w != want {
		t.Errorf("written %+v, want the first block alone", w)
	}
	if len(disk.got) != len(block(0)) || len(disk.entered) != 0 || q.State().waiting != 0 {
		t.Errorf("%q is written, %d bytes wait; want the first block alone", disk.got, q.State().waiting)
	}
}

// Written buffers are used again, a few of them.
func TestBuffersAgain(t *testing.T) {
	disk := newBlockedDisk()
	q := newDiskQueue(disk, nil)
	for i := range maxSpares + 3 {
		if empty, err := q.Take(block(i)); empty != nil || err != nil {
			t.Fatalf("Take = %v, %v; want no memory yet", empty, err)
		}
	}
	if _, err := q.Take(append(make([]byte, 0, maxSpareBytes+1), block(1)...)); err != nil {
		t.Fatal(err)
	}
	close(disk.let)
	for q.State().waiting > 0 {
		runtime.Gosched()
	}
	q.mu.Lock()
	spares := len(q.spare)
	q.mu.Unlock()
	if empty, err := q.Take(block(1)); spares != maxSpares || empty == nil || len(empty) > 0 || cap(empty) > maxSpareBytes || err != nil {
		t.Errorf("%d spare buffers; Take = %d of %d bytes, %v; want the memory of a written one", spares, len(empty), cap(empty), err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
}

// A syncedDisk counts the syncs, and the bytes that they cover.
type syncedDisk struct {
	mu            sync.Mutex
	bytes, synced int
	syncs         int
	err           error
}

func (d *syncedDisk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes += len(b)
	return len(b), nil
}

func (d *syncedDisk) Sync() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	d.synced = d.bytes
	return d.err
}

// state returns the bytes that are synced and the number of syncs, and appends the size to sizes.
func (d *syncedDisk) state(sizes *[]int) (synced, syncs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*sizes = append(*sizes, d.bytes)
	return d.synced, d.syncs
}

// While requests come, the file is synced each second; else not at all.
func TestSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &syncedDisk{}
		q := newDiskQueue(disk, nil)
		time.Sleep(time.Minute)
		const perSecond = 10
		var sizes []int // after each block
		for i := range 100 {
			if _, err := q.Take(block(i)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			synced, syncs := disk.state(&sizes)
			if syncs > 1+i/perSecond || i > perSecond && synced < sizes[i-perSecond-1] {
				t.Fatalf("after %d blocks, ten a second: %d syncs, %d bytes synced of %v", i+1, syncs, synced, sizes)
			}
			time.Sleep(syncEvery / perSecond)
		}
		time.Sleep(time.Hour)
		if synced, syncs := disk.state(&sizes); syncs != 11 || synced != sizes[99] {
			t.Errorf("an hour later: %d syncs, %d bytes synced of %d", syncs, synced, sizes[99])
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A file that cannot be synced is left, unless the file system knows no sync.
func TestSyncFails(t *testing.T) {
	for _, tt := range []struct {
		err   error
		leave bool
	}{
		{&os.PathError{Op: "sync", Err: syscall.EIO}, true},
		{syscall.EINVAL, false},
		{os.ErrClosed, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := newDiskQueue(&syncedDisk{err: tt.err}, nil)
			if _, err := q.Take(block(0)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if cause := q.asked(); (cause != nil) != tt.leave {
				t.Errorf("%v: left because of %v, want %v", tt.err, cause, tt.leave)
			}
			if err := q.State().unsynced; (err != nil) != tt.leave {
				t.Errorf("%v: the end of the run is told %v", tt.err, err)
			}
			if err := q.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
