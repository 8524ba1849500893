package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// The second signal for a stage that claimed the signals makes the program overdue within a
// second; one signal does not, nor do signals that no stage claimed.
func TestOverdue(t *testing.T) {
	for name, tt := range map[string]struct {
		claimed, signals int
		want             bool
	}{
		"unclaimed":     {0, 3, false},
		"one":           {1, 1, false},
		"two":           {1, 2, true},
		"more":          {1, 5, true},
		"claimed again": {2, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := make(chan os.Signal)
				r := newSignalRelay(in, func() {})
				defer r.Close()
				for i := range tt.signals {
					if i < tt.claimed {
						if i > 0 {
							synctest.Wait()
						}
						_, release := r.claim()
						defer release()
					}
					in <- syscall.SIGINT
				}
				begin := time.Now()
				select {
				case <-r.overdue:
					if d := time.Since(begin); !tt.want || d >= time.Second {
						t.Errorf("overdue after %v", d)
					}
				case <-time.After(time.Hour):
					if tt.want {
						t.Error("never overdue")
					}
				}
			})
		})
	}
}

// A relay that is closed keeps no timer.
func TestOverdueClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan os.Signal)
		r := newSignalRelay(in, func() {})
		_, release := r.claim()
		in <- syscall.SIGINT
		in <- syscall.SIGTERM
		synctest.Wait()
		release()
		r.Close()
		select {
		case <-r.overdue:
			t.Error("overdue after Close")
		case <-time.After(time.Hour):
		}
	})
}

// A small file may be written for a moment after the run must end.
func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		longer, release := lastWords(ctx)
		defer release()
		if err := longer.Err(); err != nil {
			t.Errorf("ended at once: %v", err)
		}
		begin := time.Now()
		<-longer.Done()
		if d := time.Since(begin); d == 0 || d > endAfterSecond || !errors.Is(context.Cause(longer), errSecondSignalWriting) {
			t.Errorf("ended after %v, because of %v", d, context.Cause(longer))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		_, release := lastWords(t.Context())
		release() // else a goroutine is left over
	})
}

// The context for the journal ends when the run's context ends, but with its own cause.
func TestWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended, release := withCause(ctx, errSecondSignal)
		defer release()
		if err := ended.Err(); err != nil {
			t.Fatalf("ended before the run: %v", err)
		}
		cancel()
		<-ended.Done()
		if err := context.Cause(ended); !errors.Is(err, errSecondSignal) {
			t.Errorf("ended because of %v", err)
		}
	})
}
