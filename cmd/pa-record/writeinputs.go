package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// inputsCommand is "pa-record inputs": it writes what would be sent.
func inputsCommand(env environment) *cli.Command {
	s := &settings{}
	return &cli.Command{
		Name:  "inputs",
		Usage: "write the requests that would be sent, and send nothing",
		Description: `Takes the flags of a run and writes what it would send, in the form of
perf_analyzer's input data (GenAI-Perf's inputs.json): {"data": [{…}, …]}, one
element for each request, in their order. --input-data reads it again. Sessions
of a layout with agents or recorded history are written as rows of LMCache, or
as AIPerf's dag_jsonl if they are more than one line of requests each.

No server is asked: name the model with -m if requests are to name it, and for
Triton say with --backend how the model takes prompts.`,
		Flags: append(s.flags(),
			cmdline.Writes(&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Category: catOutput, Usage: "write to `FILE`", DefaultText: "standard output"}),
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Category: catOutput, Usage: "write the first `N` requests, or sessions of a layout of sessions", DefaultText: "each once"},
		),
		Action: func(c *cli.Context) error { return s.writeInputs(c, env) },
	}
}

// writeInputs is pa-record inputs.
func (s *settings) writeInputs(c *cli.Context, env environment) (err error) {
	if err := s.read(c, env.getenv, false); err != nil {
		return err
	}
	if c.IsSet("profile-export-file") {
		s.note("--profile-export-file has no effect: nothing is recorded; -o FILE writes the requests into a file")
	}
	if c.IsSet("count") && c.Int("count") < 1 {
		return cmdline.Usagef("-n %d: must be at least 1", c.Int("count"))
	}
	if err := cmdline.CheckFiles(c); err != nil {
		return err
	}
	var output *disk.Output // nil: standard output
	if path := c.String("output"); path != "" {
		if output, err = disk.OpenOutput(c.Context, path, disk.Options{Overwrite: s.overwrite}); err != nil {
			return cmdline.Refusedf("--output %v", err)
		}
		defer func() { err = errors.Join(err, output.Close()) }()
	}
	s.oneRound = true
	entries, err := openInputs(c, s, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, entries.close()) }()
	s.notes = append(s.notes, entries.notes...)
	if s.Prompts == freshPrompts {
		s.note("these are the requests of the first level of the first run; other levels and runs send other requests, unless --prompts restart is given")
	}
	s.printNotes(c.App.ErrWriter)
	n := entries.Len()
	if c.IsSet("count") {
		n = c.Int("count")
	}
	form, err := requestForm(s)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		return dataset.WriteRequests(c.Context, w, entries.Source, s.sendOrder, n, form)
	}
	if all, ok := entries.Source.(workload.Sessions); ok {
		if !c.IsSet("count") {
			n = all.Sessions()
		}
		write = func(w io.Writer) error {
			notes, err := dataset.WriteSessions(c.Context, w, dataset.SessionFile{Sessions: all, Order: s.sendOrder, N: n, Body: bodyOf(form), Models: len(s.Models) > 0})
			for _, note := range notes {
				fmt.Fprintf(c.App.ErrWriter, "pa-record: note: %s\n", note)
			}
			return err
		}
	}
	if output == nil && env.shown {
		w := sanitize.NewWriter(c.App.Writer)
		return errors.Join(write(w), w.Flush())
	}
	if output == nil {
		return write(c.App.Writer)
	}
	return output.Write(c.Context, write)
}

// bodyOf returns what makes the body of a request, of a form with one body in "payload".
func bodyOf(form func(*workload.Entry) (export.Fields, error)) func(*workload.Entry) ([]byte, error) {
	return func(e *workload.Entry) ([]byte, error) {
		f, err := form(e)
		payload, _ := f.Get("payload")
		return bytes.Trim(payload.Data, "[]"), err
	}
}

// openInputs opens the data of the settings, with --fixed-schedule in the order of its times.
func openInputs(c *cli.Context, s *settings, env environment) (*inputData, error) {
	s.reading = func(path string) error { return cmdline.CheckRead(c, "a file of --input-data", path) }
	entries, err := openData(c.Context, s, env.getenv, c.App.Reader)
	if err != nil || !s.FixedSchedule {
		return entries, err
	}
	if entries.Source, err = s.schedule(entries.Source); err != nil {
		return nil, errors.Join(err, entries.close())
	}
	return entries, nil
}

// requestForm returns the function that makes an element of input data from an entry. It
// asks no server, so the function fails for entries that depend on the model.
func requestForm(s *settings) (func(*workload.Entry) (export.Fields, error), error) {
	body, err := s.kind().form(s)
	if err != nil {
		return nil, err
	}
	return func(e *workload.Entry) (export.Fields, error) {
		f, err := body(e)
		return dataset.Beside(f, e), err
	}, nil
}

// openAIForm is requestForm for an OpenAI server, whose elements are whole requests.
func openAIForm(s *settings) (func(*workload.Entry) (export.Fields, error), error) {
	url := s.rawURLs[0] // which is not asked
	if s.simulated() {
		url = "localhost"
	}
	b, err := openai.New(s.openAIConfig(url))
	if err != nil {
		return nil, &cmdline.UsageError{Msg: err.Error()}
	}
	return func(e *workload.Entry) (export.Fields, error) {
		p, err := b.Prepare(e)
		if err != nil {
			return nil, err
		}
		payload, _ := p.Inputs().Get("payload")
		return export.Fields{{Name: "payload", Value: export.JSON("[" + string(payload.Data) + "]")}}, nil
	}, nil
}

// tritonForm is requestForm for a Triton server, whose elements are tensors.
func tritonForm(s *settings) (func(*workload.Entry) (export.Fields, error), error) {
	return func(e *workload.Entry) (export.Fields, error) {
		f, err := tensorForm(s, e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Place(), err)
		}
		return f, nil
	}, nil
}

// tensorForm returns the inputs of a Triton model, which is not asked.
func tensorForm(s *settings, e *workload.Entry) (export.Fields, error) {
	switch {
	case e.Fill.Kind != workload.FillNone:
		return nil, errors.New("random tensors depend on the model, and no server is asked; give a file with --input-data")
	case e.Raw != nil:
		return nil, errors.New("the files of the folder hold tensors, whose element sizes only the model knows, and no server is asked")
	case e.Prompt == nil:
		return e.Values, nil
	case s.Style == 0 && s.template == nil:
		return nil, errors.New("only the model's inputs tell how it takes prompts, and no server is asked; give --backend")
	}
	o, model := s.renderOptions(), cmp.Or(e.Model, s.Model)
	o.Stream, o.Model = s.Streaming, model
	f, err := render.Tensors(s.Style, e.Prompt, o)
	if model != "" && err == nil {
		f = append(export.Fields{{Name: "model", Value: export.Value{Data: quoted(model)}}}, f...)
	}
	return f, err
}

// quoted returns s as a JSON string.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string fails to marshal
	}
	return b
}
