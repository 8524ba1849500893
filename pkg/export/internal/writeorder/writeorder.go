package writeorder

import (
	"errors"
	"fmt"
)

// A State says which calls a writer accepts.
type State int

// The states, in the order in which a writer enters them.
const (
	BetweenExperiments State = iota
	InExperiment
	Closed
)

// A Checker holds the state of a writer and its first error.
type Checker struct {
	Format string // what the writer writes, for messages
	State  State
	Err    error
}

// Enter returns nil if the writer is in the state that call needs. Otherwise it fails.
func (c *Checker) Enter(need State, call string) error {
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
func (c *Checker) EnterOpen(call string) error { return c.Enter(min(c.State, InExperiment), call) }

// Fail keeps err if it is the first error. It returns the first error.
func (c *Checker) Fail(err error) error {
	if c.Err == nil {
		c.Err = fmt.Errorf("write %s: %w", c.Format, err)
	}
	return c.Err
}
