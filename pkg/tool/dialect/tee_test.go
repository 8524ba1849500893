package dialect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A counted is a reader of n requests, whose Next must never overtake a
// consumer.
type counted struct {
	n, at int
	run   export.Run
	q     export.Request
}

func (c *counted) Run() *export.Run { return &c.run }
func (c *counted) Next() bool {
	c.at++
	c.q.ID = uint64(c.at)
	return c.at <= c.n
}
func (c *counted) Request() *export.Request                                  { return &c.q }
func (c *counted) Experiment() int                                           { return 0 }
func (c *counted) Scrapes(context.Context, func(*export.Scrape) error) error { return nil }
func (c *counted) Err() error                                                { return nil }
func (c *counted) Skipped(int) (int, int)                                    { return 0, 0 }
func (c *counted) Warnings() []export.Warning                                { return nil }
func (c *counted) Close() error                                              { return nil }

// Every consumer gets every request in order, also when others leave: before
// the first request, in the middle, or with an error.
func TestTee(t *testing.T) {
	errLeft := errors.New("left")
	const n = 100
	got := make([][]uint64, 6)
	var consumers []func(export.Reader) error
	for i := range got {
		stop := []int{n + 1, 0, 1, n / 2, n + 1, n}[i]
		consumers = append(consumers, func(r export.Reader) error {
			for len(got[i]) < stop {
				if !r.Next() {
					if r.Next() {
						return fmt.Errorf("a request after the last one")
					}
					return nil
				}
				got[i] = append(got[i], r.Request().ID)
			}
			return errLeft
		})
	}
	errs := Tee(&counted{n: n}, consumers)
	for i, want := range []int{n, 0, 1, n / 2, n, n} {
		if len(got[i]) != want || !slices.IsSorted(got[i]) || want > 0 && got[i][want-1] != uint64(want) {
			t.Errorf("consumer %d got %v, want 1 to %d", i, got[i], want)
		}
	}
	if want := []error{nil, errLeft, errLeft, errLeft, nil, errLeft}; !slices.Equal(errs, want) {
		t.Errorf("errors %v, want %v", errs, want)
	}
	if errs := Tee(&counted{n: 3}, nil); len(errs) != 0 {
		t.Errorf("of nobody: %v", errs)
	}
}
