package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"

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

// errSecondSignal is the cause of an export that was not written to its end.
var errSecondSignal = errors.New("a second signal stopped the writing of the export")

// withCause returns a context that ends when ctx ends, because of cause. release frees it.
func withCause(ctx context.Context, cause error) (ended context.Context, release func()) {
	ended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(cause) })
	return ended, func() {
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
