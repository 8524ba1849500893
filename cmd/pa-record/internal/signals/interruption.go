package signals

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

// An Interruption is the signal that ended a run. The zero value is a run without one.
type Interruption struct{ sig atomic.Int32 }

// Signal returns the signal, 0 for none.
func (i *Interruption) Signal() syscall.Signal { return syscall.Signal(i.sig.Load()) }

// Error returns err, which may be nil, with the exit code of the signal.
func (i *Interruption) Error(err error) error {
	return &cmdline.CodeError{Code: 128 + int(i.Signal()), Err: err}
}

// Name returns the name of the signal as exports store it, such as "SIGINT"; "stopped"
// for other signals and for none.
func (i *Interruption) Name() string {
	switch i.Signal() {
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return "stopped"
}

// ErrSecond is the error of an export whose writing a second signal stopped.
var ErrSecond = errors.New("a second signal stopped the writing of the export")

// ErrSecondWriting is the error of another file whose writing a second signal stopped.
var ErrSecondWriting = errors.New("a second signal stopped the writing")

// LastWords returns a context for writing a small file: it ends a moment after ctx, because
// of [ErrSecondWriting]. If ctx has ended already, the moment counts from now. release frees it.
func LastWords(ctx context.Context) (longer context.Context, release func()) {
	const moment = 100 * time.Millisecond
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { // ends with longer
		t := time.NewTimer(moment)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(ErrSecondWriting)
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// WithCause returns a context that ends when ctx ends, because of cause. release frees it.
func WithCause(ctx context.Context, cause error) (ended context.Context, release func()) {
	ended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(cause) })
	return ended, func() {
		stop()
		cancel(nil)
	}
}

// Watch claims the signals of relay for a run. The first signal closes stop and is
// stored in i; the second one ends ctx. release ends ctx and the claim.
func Watch(parent context.Context, relay *Relay, stderr io.Writer) (ctx context.Context, stop <-chan struct{}, i *Interruption, release func()) {
	ctx, cancel := context.WithCancel(parent)
	signals, giveBack := relay.Claim()
	stopped := make(chan struct{})
	i = &Interruption{}
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
