package settings

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
)

// InconclusiveFlag is --inconclusive, which chooses the exit code of a gate that cannot tell.
func InconclusiveFlag() cli.Flag {
	return &cli.StringFlag{Name: "inconclusive", Value: "4", Usage: "what a gate does if the data cannot tell: `fail` (exit code 3), pass (exit code 0) or 4 (exit code 4)", Category: "Gates"}
}

// InconclusiveCode returns the exit code that --inconclusive chooses. Other values are usage errors.
func InconclusiveCode(c *cli.Context) (int, error) {
	switch value := c.String("inconclusive"); strings.ToLower(value) {
	case "4":
		return cmdline.ExitInconclusive, nil
	case "fail":
		return cmdline.ExitGate, nil
	case "pass":
		return cmdline.ExitOK, nil
	default:
		return 0, cmdline.Usagef("--inconclusive %q: give fail, pass or 4", value)
	}
}

// Inconclusive reports err, which says what a gate cannot tell, with the exit code that
// InconclusiveCode returned. For exit code 0 it prints a warning and returns nil.
func Inconclusive(c *cli.Context, code int, err error) error {
	if err == nil {
		return nil
	}
	if code == cmdline.ExitOK {
		WarnAll(c, strings.Split(err.Error(), "\n"))
		return nil
	}
	return &cmdline.CodeError{Code: code, Err: err}
}
