package cmdline

import "fmt"

// Exit codes of both commands.
const (
	ExitOK           = 0
	ExitError        = 1 // the run or the analysis failed, or the input was cut short
	ExitUsage        = 2
	ExitGate         = 3 // a gate was not met
	ExitInconclusive = 4 // no gate failed, but the data cannot tell whether one holds
)

// A UsageError is a mistake in the command line: exit code 2, one line.
type UsageError struct {
	Msg string
	// NoHelp suppresses the line that points to the help page, which would not
	// help: the flags are well-formed, but a file is in the way, for instance.
	NoHelp bool
}

func (e *UsageError) Error() string { return e.Msg }

// Usagef returns a *UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}

// Refusedf returns a *UsageError with NoHelp set.
func Refusedf(format string, args ...any) error {
	return &UsageError{Msg: fmt.Sprintf(format, args...), NoHelp: true}
}

// A CodeError asks for an exit code. Err is printed unless it is nil.
type CodeError struct {
	Code int
	Err  error
}

func (e *CodeError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *CodeError) Unwrap() error { return e.Err }
