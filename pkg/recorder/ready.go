package recorder

import (
	"context"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

const (
	// readyEvery is the period of questions while WaitReady waits.
	readyEvery = 250 * time.Millisecond
	// quietWait is how long Run waits for the server before Waiting is called.
	quietWait = 2 * time.Second
)

// check asks whether the server is ready, again and again while WaitReady
// lasts. Stop ends the asking.
func (r *runState) check(ctx context.Context) error {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	said, stop := r.sayWaiting()
	defer stop()
	deadline := time.Now().Add(r.cfg.WaitReady)
	for {
		err := r.checkOnce(ctx)
		said(err)
		if err == nil {
			stop() // Waiting is not called any more
			r.noteWarnings()
			return nil
		}
		if !time.Now().Add(readyEvery).Before(deadline) || !load.WaitTimer(time.Now().Add(readyEvery), ctx.Done()) {
			return err
		}
	}
}

// noteWarnings keeps what the backend's Check warns of for the export, and tells
// Config.CheckWarnings.
func (r *runState) noteWarnings() {
	b, ok := r.cfg.Backend.(backend.Warner)
	if !ok {
		return
	}
	warnings := b.CheckWarnings()
	for _, w := range warnings {
		r.cfg.Run.Meta.Warnings = append(r.cfg.Run.Meta.Warnings, w.Text)
	}
	if len(warnings) > 0 && r.cfg.CheckWarnings != nil {
		r.cfg.CheckWarnings(warnings)
	}
}

// sayWaiting calls Waiting in a while, unless stop is called before. said takes
// what the server said last. After stop there is no call any more.
func (r *runState) sayWaiting() (said func(error), stop func()) {
	var mu sync.Mutex // held during the call
	var last error
	over := false
	timer := time.AfterFunc(quietWait, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			r.cfg.Waiting(last)
		}
	})
	said = func(err error) {
		mu.Lock()
		last = err
		mu.Unlock()
	}
	return said, func() {
		timer.Stop()
		mu.Lock()
		over = true
		mu.Unlock()
	}
}

// checkOnce asks once, for no longer than a request may take.
func (r *runState) checkOnce(ctx context.Context) error {
	if r.cfg.RequestTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.RequestTimeout)
		defer cancel()
	}
	return r.cfg.Backend.Check(ctx)
}
