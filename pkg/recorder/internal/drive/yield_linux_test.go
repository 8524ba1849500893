package drive

import (
	"os"
	"runtime"
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
