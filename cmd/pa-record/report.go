package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/pa-tools/pa/cmd/pa-record/internal/signals"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/tokenizer"
	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
	"github.com/pa-tools/pa/pkg/tokenizer/hub"
	"github.com/pa-tools/pa/pkg/tool"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// printReport prints the report of --report from the exports of the runs, also if the last run
// failed or was interrupted: our table, or the report of the tool whose command line was given. The
// printed command of pa-analyze prints the same report. printReport prints nothing without an export.
func (m *repeatedRun) printReport(ctx context.Context) error {
	if !m.s.Report || len(m.done) == 0 {
		return nil
	}
	ctx, release := signals.WithCause(ctx, signals.ErrSecondWriting)
	defer release()
	fmt.Fprintln(m.stdout)
	write := m.strictReport
	if name := m.s.Hints["dialect"]; name != "" && name != dialect.Strict {
		write = m.toolReport
	}
	if err := write(ctx); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

// strictReport prints our table of all runs.
func (m *repeatedRun) strictReport(ctx context.Context) error {
	var cfg analyze.Config
	if name := m.countsWith(); name != "" {
		tok, err := m.loadTokenizer(ctx, name, tokenizer.Transformers4)
		if err != nil {
			return err
		}
		cfg.Counter, cfg.Tokenizer = &answer.LimitedCounter{Tokenizer: tok}, &analyze.Tokenizer{Name: name, SHA256: tok.Hash()}
	}
	var inputs []report.Input
	var errs []error
	for _, r := range m.done {
		errs = append(errs, readExport(ctx, r.export, func(x export.Reader) error {
			rep, err := analyze.Run(ctx, x, cfg)
			if rep != nil {
				inputs = append(inputs, report.Input{Name: r.export, Report: rep})
			}
			return err
		}))
	}
	if len(inputs) > 0 {
		errs = append(errs, report.Table(inputs, report.Options{})(m.stdout))
		for _, w := range report.Warnings(inputs, false) {
			fmt.Fprintf(m.stderr, "pa-record: warning: %s\n", w)
		}
	}
	return errors.Join(errs...)
}

// toolReport prints the report of the tool whose command line was given, of each run.
func (m *repeatedRun) toolReport(ctx context.Context) error {
	t := tool.Dialects().Find(m.s.Hints["dialect"])
	if t == nil || t.New == nil {
		return fmt.Errorf("--analysis-hint dialect=%s: no such report; %s", m.s.Hints["dialect"], tool.Dialects().Names())
	}
	cfg, err := m.dialectConfig(ctx, t)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range m.done {
		if len(m.done) > 1 {
			fmt.Fprintln(m.stdout, r.export)
		}
		errs = append(errs, readExport(ctx, r.export, func(x export.Reader) error {
			rep, err := dialect.Analyze(ctx, t, x, cfg)
			if rep == nil {
				return err
			}
			for _, w := range rep.Warnings() {
				fmt.Fprintf(m.stderr, "pa-record: warning: %s: %v\n", r.export, w)
			}
			return errors.Join(err, rep.Console(m.stdout, widestReport))
		}))
	}
	return errors.Join(errs...)
}

// widestReport is a width that no line of a tool's report reaches.
const widestReport = 1 << 20

// dialectConfig returns the settings of a tool's report, from the hints that the exports keep.
func (m *repeatedRun) dialectConfig(ctx context.Context, t *dialect.Tool) (cfg dialect.Config, err error) {
	hints := m.s.Hints
	cfg.Backend, cfg.EndpointType, cfg.WithoutTokenizer = hints["backend"], hints["endpoint_type"], true
	if text, ok := hints["streaming"]; ok {
		streaming, err := strconv.ParseBool(text)
		if err != nil {
			return cfg, fmt.Errorf("--analysis-hint streaming=%s: expected true or false", text)
		}
		cfg.Streaming = &streaming
	}
	if level := hints["experiment"]; level != "" {
		cfg.Level = dialect.ParseLevel(level)
	}
	if cfg.Goodput, err = dialect.ParseLimits(hints["goodput"]); err != nil {
		return cfg, fmt.Errorf("--analysis-hint goodput: %w", err)
	}
	reading := tokenizer.Transformers4
	if t.Transformers == 5 {
		reading = tokenizer.Transformers5
	}
	if name := hints["tokenizer"]; name != "" {
		tok, err := m.loadTokenizer(ctx, name, reading)
		if err != nil {
			return cfg, err
		}
		cfg.Tokenizer, cfg.TokenizerName = tok, dialect.TokenizerName(name)
		return cfg, nil
	}
	if name := hints["default_tokenizer"]; name != "" {
		tok, err := m.loadTokenizer(ctx, name, reading)
		if err != nil {
			fmt.Fprintf(m.stderr, "pa-record: warning: --report: %v; token counts are from the built-in tokenizer\n", err)
			if tok, err = builtin.Load(); err != nil {
				return cfg, err
			}
		}
		cfg.Tokenizer, cfg.TokenizerName = tok, name
	}
	return cfg, nil
}

// loadTokenizer loads the tokenizer of the command line, which the run may not have needed.
func (m *repeatedRun) loadTokenizer(ctx context.Context, name string, reading tokenizer.Reading) (*tokenizer.Tokenizer, error) {
	home, _ := os.UserHomeDir() // without a home only paths are found
	tok, err := hub.FromEnv(m.env.getenv, home).Load(ctx, name, reading)
	if err != nil {
		return nil, fmt.Errorf("%w; --tokenizer built-in needs no file", err)
	}
	for _, note := range tok.Notes() {
		fmt.Fprintf(m.stderr, "pa-record: note: tokenizer %s: %s\n", name, note)
	}
	return tok, nil
}

// readExport gives the export at path to read.
func readExport(ctx context.Context, path string, read func(export.Reader) error) (err error) {
	opener := export.Opener{Formats: formats.Readers()}
	r, err := opener.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return read(r)
}
