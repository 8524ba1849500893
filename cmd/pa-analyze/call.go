package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
)

// A commandLine holds the flags and arguments of a command.
type commandLine = cli.Context

// A call is a command line that a command executes, with the files that it has open.
type call struct {
	*commandLine
	// open holds, by path, files that were opened for their headers. They stay open until they
	// are read, so that no file is opened twice.
	open map[string]export.Reader
}

// action returns the action of a command. Before do begins, arguments reads the arguments, each
// of checks looks at flags that depend on others, and an output is refused that is also an input
// or another output, or that must not be written. Checks of single flags come first: see
// [parsed]. Thus no file is opened for a command line that is wrong.
func action[A any](arguments func(*call) (A, error), do func(*call, A) error, checks ...func(*call) error) cli.ActionFunc {
	checks = append(checks, (*call).checkOutput)
	return func(line *cli.Context) (err error) {
		c := &call{line, map[string]export.Reader{}}
		args, err := arguments(c)
		if err != nil {
			return err
		}
		if err := cmdline.CheckFiles(line); err != nil {
			return err
		}
		for _, check := range checks {
			if err := check(c); err != nil {
				return err
			}
		}
		defer func() { err = errors.Join(err, c.close()) }()
		return do(c, args)
	}
}

// analyzed returns the action of a command that analyzes runs: do also gets what the flags of an
// analysis say.
func analyzed[A any](a *analysis, arguments func(*call) (A, error), do func(*call, A, analyze.Config) error, checks ...func(*call) error) cli.ActionFunc {
	return action(arguments, func(c *call, args A) error {
		cfg, err := a.config(c)
		if err != nil {
			return err
		}
		return do(c, args, cfg)
	}, append(checks, a.check)...)
}

// checkOutput refuses an --output that cannot or must not be written.
func (c *call) checkOutput() error { return c.checkPath(c.String("output")) }

// checkPath refuses an output that cannot or must not be written, before the work.
func (c *call) checkPath(out string) error {
	if out == "" || out == "-" {
		return nil
	}
	if err := disk.CheckOutput(out, c.Bool("overwrite")); err != nil {
		return cmdline.Refusedf("%v", err)
	}
	return nil
}

// close closes the files that were not used.
func (c *call) close() error {
	var errs []error
	for _, r := range c.open {
		errs = append(errs, r.Close())
	}
	clear(c.open)
	return errors.Join(errs...)
}
