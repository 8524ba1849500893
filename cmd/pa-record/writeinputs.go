package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/cmd/pa-record/internal/inputs"
	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
)

// inputsCommand is "pa-record inputs": it writes what would be sent.
func inputsCommand(env environment) *cli.Command {
	return &cli.Command{
		Name:  "inputs",
		Usage: "write the requests that would be sent, and send nothing",
		Description: `Takes the flags of a run and writes what it would send, in the form of
perf_analyzer's input data (GenAI-Perf's inputs.json): {"data": [{…}, …]}, one
element for each request, in their order. --input-data reads it again.

No server is asked: name the model with -m if requests are to name it, and for
Triton say with --backend how the model takes prompts.`,
		Flags: append(settings.Flags(),
			cmdline.Writes(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: settings.CategoryOutput, Usage: "write to `FILE`", DefaultText: "standard output"}),
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Category: settings.CategoryOutput, Usage: "write the first `N` requests", DefaultText: "each entry once"},
		),
		Action: func(c *cli.Context) error { return writeInputs(c, env) },
	}
}

func writeInputs(c *cli.Context, env environment) (err error) {
	s, err := settings.NewInputs(c, env.getenv)
	if err != nil {
		return err
	}
	if c.IsSet("count") && c.Int("count") < 1 {
		return cmdline.Usagef("-n %d: must be at least 1", c.Int("count"))
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	var output *outfile.File // nil: standard output
	if path := c.String("output"); path != "" {
		if output, err = outfile.Open(c.Context, path, outfile.Options{Overwrite: s.Overwrite}); err != nil {
			return cmdline.Refusedf("--output %v", err)
		}
		defer func() { err = errors.Join(err, output.Close()) }()
	}
	s.OneRound = true
	entries, err := openInputs(c, s, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, entries.Close()) }()
	s.Notes = append(s.Notes, entries.Notes...)
	if s.Prompts == settings.FreshPrompts {
		s.Note("these are the requests of the first level of the first run; other levels and runs send other requests, unless --prompts restart is given")
	}
	s.PrintNotes(c.App.ErrWriter)
	n := entries.Len()
	if c.IsSet("count") {
		n = c.Int("count")
	}
	form, err := inputs.RequestForm(s)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		return inputs.WriteRequests(c.Context, w, entries.Source, s.SendOrder, n, form)
	}
	if output == nil {
		return write(c.App.Writer)
	}
	return output.Write(c.Context, write)
}

// openInputs opens the data of the settings, with --fixed-schedule in the order of its times.
func openInputs(c *cli.Context, s *settings.Settings, env environment) (*inputs.Data, error) {
	s.Reading = func(path string) error { return cmdline.CheckRead(c, "a file of --input-data", path) }
	entries, err := inputs.Open(c.Context, s, env.getenv, c.App.Reader)
	if err != nil || !s.FixedSchedule {
		return entries, err
	}
	if entries.Source, err = s.Schedule(entries.Source); err != nil {
		return nil, errors.Join(err, entries.Close())
	}
	return entries, nil
}
