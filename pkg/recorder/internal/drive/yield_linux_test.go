package drive

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Connections that have bytes get a thread before goroutines that yield, although these can
// run at once and there is only one thread. Without a Yielder the goroutines come first.
func TestYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const readers, workers = 60, 60
	for _, tt := range []struct {
		name    string
		yielder *Yielder
		most    int32 // pieces of work before the last read
		least   int32
	}{
		{"with", NewYielder(), 3 * callsPerWait, 0}, // the poller may report the pipes in a few parts
		{"without", nil, workers, workers / 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var worked, before atomic.Int32
			var all sync.WaitGroup
			var ends []int
			for range readers {
				var fds [2]int
				if err := unix.Pipe2(fds[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
					t.Fatal(err)
				}
				defer unix.Close(fds[1])
				ends = append(ends, fds[1])
				r := os.NewFile(uintptr(fds[0]), "pipe")
				defer r.Close()
				all.Go(func() {
					var b [1]byte
					if _, err := r.Read(b[:]); err != nil {
						t.Error(err)
					}
					before.Store(worked.Load())
				})
			}
			for range readers + 1 { // until all of them wait
				runtime.Gosched()
			}
			for range workers {
				all.Go(func() {
					tt.yielder.Yield()
					for begin := time.Now(); time.Since(begin) < 100*time.Microsecond; {
					}
					worked.Add(1)
				})
			}
			for _, fd := range ends {
				if _, err := unix.Write(fd, []byte{1}); err != nil {
					t.Fatal(err)
				}
			}
			all.Wait()
			if got := before.Load(); got > tt.most || got < tt.least {
				t.Errorf("%d of %d pieces of work were done before the last read, want %d to %d", got, workers, tt.least, tt.most)
			}
			if tt.yielder != nil {
				tt.yielder.Close()
			}
		})
	}
}

// Yield does not allocate, and goes on after Close.
func TestYieldAlone(t *testing.T) {
	y := NewYielder()
	for range 3 {
		y.Yield()
	}
	if n := testing.AllocsPerRun(100, y.Yield); n > 0 {
		t.Errorf("%v allocations", n)
	}
	y.Close()
	y.Yield()
	y.Yield()
	var zero Yielder
	zero.Yield()
}

// A pass comes behind a pipe that became ready before it, also if the poller last reported the pass before.
func TestPassOrder(t *testing.T) {
	var q pollerQueue
	q.open()
	defer q.close()
	if q.file == nil {
		t.Fatal("no eventfd, which every Linux has")
	}
	poller, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC) // in place of Go's
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(poller)
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	var events [4]unix.EpollEvent
	reported := func() (fds []int32) {
		n, err := unix.EpollWait(poller, events[:], 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events[:n] {
			fds = append(fds, ev.Fd)
		}
		return fds
	}
	err = q.raw.Control(func(queue uintptr) {
		for _, fd := range []int{int(queue), pipe[0]} {
			const edges = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | 1<<31 // as Go's; the last one is EPOLLET
			if err := unix.EpollCtl(poller, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: edges, Fd: int32(fd)}); err != nil {
				t.Fatal(err)
			}
		}
		reported() // an eventfd can be written at once
		for i := range 3 {
			want := []int32{int32(queue)}
			if i > 0 {
				if _, err := unix.Write(pipe[1], []byte{1}); err != nil {
					t.Fatal(err)
				}
				want = []int32{int32(pipe[0]), int32(queue)}
			}
			q.ready = false
			if q.attend(queue) {
				t.Fatal("a pass does not wait")
			}
			if got := reported(); !slices.Equal(got, want) {
				t.Errorf("pass %d: the poller reports %v, want %v", i, got, want)
			}
			if !q.attend(queue) {
				t.Fatal("a pass waits twice")
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
