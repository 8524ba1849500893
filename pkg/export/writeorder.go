package export

import (
	"errors"
	"fmt"
)

// A WriteState says which calls a Writer accepts.
type WriteState int

// The states, in the order in which a writer enters them.
const (
	BetweenExperiments WriteState = iota
	InExperiment
	Closed
)

// A WriteOrder checks the order of the calls of a Writer: it holds the state and the first error.
type WriteOrder struct {
	Format string // what the writer writes, for messages
	State  WriteState
	Err    error
}

// Enter returns nil if the writer is in the state that call needs. Otherwise it fails.
func (c *WriteOrder) Enter(need WriteState, call string) error {
	switch {
	case c.Err != nil:
		return c.Err
	case c.State == need:
		return nil
	case c.State == Closed:
		return c.Fail(errors.New(call + " after Close"))
	case c.State == InExperiment:
		return c.Fail(errors.New(call + " within an experiment"))
	}
	return c.Fail(errors.New(call + " outside an experiment"))
}

// EnterOpen is Enter for a call that every state but Closed allows.
func (c *WriteOrder) EnterOpen(call string) error { return c.Enter(min(c.State, InExperiment), call) }

// Fail keeps err if it is the first error. It returns the first error.
func (c *WriteOrder) Fail(err error) error {
	if c.Err == nil {
		c.Err = fmt.Errorf("write %s: %w", c.Format, err)
	}
	return c.Err
}
