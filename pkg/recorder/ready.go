package recorder

import (
	"context"
	"sync"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

const (
	// readyEvery is the period of checks during WaitReady.
	readyEvery = 250 * time.Millisecond
	// quietWait is how long Run waits for the server before it calls Waiting.
	quietWait = 2 * time.Second
)

// check checks the server until it is ready or WaitReady is over. Stop ends it.
func (r *runState) check(ctx context.Context) error {
	ctx, cancel := r.untilStop(ctx)
	defer cancel()
	failed, stop := r.callWaiting()
	defer stop()
	deadline := time.Now().Add(r.cfg.WaitReady)
	for {
		err := r.checkOnce(ctx)
		if err == nil {
			stop() // before CheckWarnings
			r.noteWarnings()
			return nil
		}
		failed(err)
		if !time.Now().Add(readyEvery).Before(deadline) || !load.WaitTimer(time.Now().Add(readyEvery), ctx.Done()) {
			return err
		}
	}
}

// noteWarnings adds the warnings of the backend's Check to the metadata and passes them
// to Config.CheckWarnings.
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

// callWaiting calls Waiting after quietWait with the last error that failed got. After
// stop it does not call Waiting any more.
func (r *runState) callWaiting() (failed func(error), stop func()) {
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
	failed = func(err error) {
		mu.Lock()
		last = err
		mu.Unlock()
	}
	return failed, func() {
		timer.Stop()
		mu.Lock()
		over = true
		mu.Unlock()
	}
}

// checkOnce checks the server once, within the timeout of a request.
func (r *runState) checkOnce(ctx context.Context) error {
	if r.cfg.RequestTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.RequestTimeout)
		defer cancel()
	}
	return r.cfg.Backend.Check(ctx)
}
