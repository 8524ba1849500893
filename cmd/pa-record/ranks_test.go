package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/recorder/ranks"
)

// A rank that leaves because another rank was lost lets the rest complete their shares;
// a rank that leaves because of its own error ends the run of all.
func TestLeaveRanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		ends bool
	}{
		{"nothing", nil, false},
		{"lost rank", fmt.Errorf("run 1: %w", &ranks.LostError{Ranks: []int{2}}), false},
		{"own error", errors.New("the disk is full"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := nettest.Listen(t)
			addr := l.Addr().String()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			join := func(rank int) (*rankGroup, func(error) error) {
				var s settings
				s.world, s.barrier, s.barrierTimeout = ranks.World{Rank: rank, Size: 3}, addr, ranks.DefaultTimeout
				r, leave, err := joinRanks(context.Background(), &s)
				if err != nil {
					t.Fatal(err)
				}
				return r, leave
			}
			first, leaveFirst := join(0)
			_, leave := join(1)
			if err := leave(c.err); !errors.Is(err, c.err) {
				t.Errorf("leave returned %v, want %v", err, c.err)
			}
			// Rank 0 has read all that rank 1 sent when rank 1 has left.
			if by := first.session.EndedBy(); (by != nil) != c.ends {
				t.Errorf("the run of all was ended by %v, want an end: %v", by, c.ends)
			}
			if err := leaveFirst(nil); err != nil {
				t.Error(err)
			}
		})
	}
}
