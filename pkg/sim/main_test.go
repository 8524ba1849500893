package sim

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fast returns a configuration whose requests take a few milliseconds.
func fast() Config {
	return Config{
		TTFT: plan.ConstantDelay(time.Millisecond), ITL: plan.ConstantDelay(200 * time.Microsecond),
		OutputTokens: plan.ConstantLength(8), AddSubDelay: plan.ConstantDelay(0),
	}
}

func start(t *testing.T, c Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// settled returns the ledger once nothing is in flight.
func settled(t *testing.T, s *Server) []Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Wait(ctx); err != nil {
		t.Fatalf("Wait: %v", err)
	}
	return s.Ledger()
}

// last returns the newest entry once nothing is in flight.
func last(t *testing.T, s *Server) Entry {
	t.Helper()
	all := settled(t, s)
	if len(all) == 0 {
		t.Fatal("the ledger is empty")
	}
	return all[len(all)-1]
}
