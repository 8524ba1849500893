package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
)

// endAfterSecond is how long after the second signal a stage that claimed the signals may take to
// end. The program then has the rest of a second to print what it has to say.
const endAfterSecond = 600 * time.Millisecond

// A signalRelay passes the signals of the process to the stage that claimed them. It is safe
// for concurrent use.
type signalRelay struct {
	// unclaimed gets the signals that no stage claimed. It has room for one.
	unclaimed chan os.Signal
	// overdue is closed when the program must end although the stage that claimed the signals
	// has not: it got two, and may wait for a disk, a pipe or a server that never answers.
	overdue chan struct{}
	stop    chan struct{}

	mu      sync.Mutex
	claimed chan os.Signal // nil: no stage has claimed signals
	got     int            // number of signals for a stage that claimed them
	ending  *time.Timer    // closes overdue; nil before the second signal
	latest  os.Signal
}

// newSignalRelay starts a relay, which calls seen after each signal. Close ends it.
func newSignalRelay(signals <-chan os.Signal, seen func()) *signalRelay {
	r := &signalRelay{unclaimed: make(chan os.Signal, 1), overdue: make(chan struct{}), stop: make(chan struct{})}
	go func() { // ends with stop
		for {
			select {
			case sig := <-signals:
				r.hand(sig)
				seen()
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

// Close ends the relay. It must be called once.
func (r *signalRelay) Close() {
	close(r.stop)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending != nil {
		r.ending.Stop()
	}
}

// hand passes a signal to the stage that handles it. Like the operating system, it
// drops signals that come faster than they are handled.
func (r *signalRelay) hand(sig os.Signal) {
	r.mu.Lock()
	to := r.claimed
	r.latest = sig
	if to != nil {
		r.got++
	}
	if r.got > 1 && r.ending == nil {
		r.ending = time.AfterFunc(endAfterSecond, func() { close(r.overdue) })
	}
	r.mu.Unlock()
	if to == nil {
		to = r.unclaimed
	}
	select {
	case to <- sig:
	default:
	}
}

// claim returns a channel that gets the signals until release is called.
func (r *signalRelay) claim() (signals <-chan os.Signal, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := make(chan os.Signal, 2)
	r.claimed = c
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.claimed = nil
	}
}

// last returns the latest signal, nil if there was none.
func (r *signalRelay) last() os.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// An interruption is the signal that ended a run. The zero value is a run without one.
type interruption struct{ sig atomic.Int32 }

// signal returns the signal, 0 for none.
func (i *interruption) signal() syscall.Signal { return syscall.Signal(i.sig.Load()) }

// exitError returns err, which may be nil, with the exit code of the signal.
func (i *interruption) exitError(err error) error {
	return &cmdline.CodeError{Code: 128 + int(i.signal()), Err: err}
}

// name returns the name of the signal as exports store it, such as "SIGINT"; "stopped"
// for other signals and for none.
func (i *interruption) name() string {
	switch i.signal() {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return "stopped"
}

// errSecondSignal is the error of an export whose writing a second signal stopped.
var errSecondSignal = errors.New("a second signal stopped the writing of the export")

// errSecondSignalWriting is the error of another file whose writing a second signal stopped.
var errSecondSignalWriting = errors.New("a second signal stopped the writing")

// lastWords returns a context for writing a small file: it ends a moment after ctx, because
// of [errSecondSignalWriting]. If ctx has ended already, the moment counts from now. release frees it.
func lastWords(ctx context.Context) (longer context.Context, release func()) {
	const moment = 100 * time.Millisecond
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { // ends with longer
		t := time.NewTimer(moment)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errSecondSignalWriting)
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// withCause returns a context that ends when ctx ends, because of cause. release frees it.
func withCause(ctx context.Context, cause error) (ended context.Context, release func()) {
	ended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(cause) })
	return ended, func() {
		stop()
		cancel(nil)
	}
}

// watchSignals claims the signals of relay for a run. The first signal closes stop and is
// stored in i; the second one ends ctx. release ends ctx and the claim.
func watchSignals(parent context.Context, relay *signalRelay, stderr io.Writer) (ctx context.Context, stop <-chan struct{}, i *interruption, release func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, giveBack := relay.claim()
	stopped := make(chan struct{})
	i = &interruption{}
	done := make(chan struct{})
	go func() { // ends with the context
		defer close(done)
		select {
		case sig := <-signals:
			if s, ok := sig.(syscall.Signal); ok {
				i.sig.Store(int32(s))
			}
			close(stopped) // first: nothing that is printed may delay it
			fmt.Fprintln(stderr, "\npa-record: stopping; waiting for the requests in flight (again to stop at once)")
		case <-ctx.Done():
			return
		}
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, stopped, i, func() {
		cancel()
		<-done
		giveBack()
	}
}
