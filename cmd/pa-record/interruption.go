package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
)

// An interruption is the signal that ended the run, 0 for none.
type interruption struct{ sig atomic.Int32 }

func (i *interruption) get() syscall.Signal { return syscall.Signal(i.sig.Load()) }

// error returns err, which may be nil, with the exit code of the signal.
func (i *interruption) error(err error) error {
	return &cmdline.CodeError{Code: 128 + int(i.get()), Err: err}
}

func (i *interruption) name() string {
	switch i.get() {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return "stopped"
}

// smallJournalBytes is a size of a journal up to which the exports are written in a
// fraction of a second on any machine that is not overloaded.
const smallJournalBytes = 16 << 20

// timeToWrite returns how long pa-record may go on writing the exports from a journal
// after a second signal. A small journal gets time for a slow machine: its exports are
// nearly always finished long before.
func timeToWrite(journalBytes int64) time.Duration {
	if journalBytes <= smallJournalBytes {
		return 5 * time.Second
	}
	return 250 * time.Millisecond
}

// errSecondSignal is the cause of an export that was not written to its end.
var errSecondSignal = errors.New("a second signal stopped the writing of the export")

// outlive returns a context that ends d after ctx ends, so that a run that must end
// at once still writes its export if that takes less than d. If ctx has ended already,
// the time counts from now. release frees the context.
func outlive(ctx context.Context, d time.Duration) (longer context.Context, release func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if ctx.Err() != nil && d <= 0 {
		cancel(errSecondSignal)
	}
	stop := context.AfterFunc(ctx, func() { // ends with longer
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errSecondSignal)
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// watchSignals turns the first signal into a closed stop channel and the
// second into the end of the context. release ends the watching.
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
