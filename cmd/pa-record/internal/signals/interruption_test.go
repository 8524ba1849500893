package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// The context for the journal ends with the run's, for its own reason.
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
