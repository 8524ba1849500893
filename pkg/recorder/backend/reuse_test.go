package backend_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// An optional connection that cannot be opened is no error, and nobody waits for the
// connections after it. Otherwise the error is passed on.
func TestPrewarming(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		name      string
		optional  bool
		outcomes  []error // of the attempts to connect; nil connects
		attempts  int
		wantError error // of the last Open
	}{
		{"all connect", false, []error{nil, nil, nil}, 3, nil},
		{"refused", false, []error{nil, refused, refused}, 3, refused},
		{"optional, all connect", true, []error{nil, nil, nil}, 3, nil},
		{"optional, refused", true, []error{nil, refused, nil}, 2, nil},
	} {
		p := backend.Prewarming{Optional: tt.optional}
		attempts := 0
		var err error
		for _, outcome := range tt.outcomes {
			err = p.Open(t.Context(), func(context.Context) error { attempts++; return outcome })
		}
		if attempts != tt.attempts || !errors.Is(err, tt.wantError) {
			t.Errorf("%s: %d attempts, %v; want %d, %v", tt.name, attempts, err, tt.attempts, tt.wantError)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		p := backend.Prewarming{Optional: true}
		begin := time.Now()
		if err := p.Open(t.Context(), hang); err != nil || time.Since(begin) != 10*time.Second {
			t.Errorf("a server that does not answer: %v after %v", err, time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p = backend.Prewarming{Optional: true}
		if err := p.Open(ctx, hang); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the run ends: %v", err)
		}
	})
}
