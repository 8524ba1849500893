package signals

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// The context for the journal ends when the run's context ends, but with its own cause.
func TestWithCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended, release := WithCause(ctx, ErrSecond)
		defer release()
		if err := ended.Err(); err != nil {
			t.Fatalf("ended before the run: %v", err)
		}
		cancel()
		<-ended.Done()
		if err := context.Cause(ended); !errors.Is(err, ErrSecond) {
			t.Errorf("ended because of %v", err)
		}
	})
}
