package cmdline

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/urfave/cli/v2"
)

// A SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

func (e SignalError) Error() string { return "ended by " + e.Signal.String() }

// Code returns the exit code of a program that the signal ended: 128 + its number.
func (e SignalError) Code() int {
	if n, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return ExitError
}

// WithSignals returns an action with the exit code of the signal if action fails after
// a signal ended its context. The error is the action's, if that names the signal, or
// else the SignalError rather than "context canceled".
func WithSignals(action cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		err := action(c)
		var ended SignalError
		if err == nil || !errors.As(context.Cause(c.Context), &ended) {
			return err
		}
		if !errors.As(err, new(SignalError)) {
			err = ended
		}
		return &CodeError{Code: ended.Code(), Err: err}
	}
}
