package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pa-tools/pa/cmd/pa-record/internal/signals"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/page"
	"github.com/pa-tools/pa/pkg/export"
)

// page writes the page of --html from the exports of the runs, also if the last run failed or was
// interrupted. It writes none if there is no export.
func (m *repeatedRun) page(ctx context.Context) error {
	if m.s.HTML == "" || len(m.done) == 0 {
		return nil
	}
	ctx, release := signals.WithCause(ctx, signals.ErrSecondWriting)
	defer release()
	var runs []page.Run
	var errs []error
	for _, r := range m.done {
		run, err := collectExport(ctx, r.export)
		errs = append(errs, err)
		if run.Run != nil {
			runs = append(runs, run)
		}
	}
	if len(runs) == 0 {
		return fmt.Errorf("--html: %w", errors.Join(errs...))
	}
	errs = append(errs, m.outputs.html.Write(ctx, page.HTML(page.New("pa-record "+version, runs))))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	if !m.s.Quiet {
		fmt.Fprintf(m.stderr, "pa-record: wrote the page %s\n", m.s.HTML)
	}
	return nil
}

// collectExport collects what a page shows of an export.
func collectExport(ctx context.Context, path string) (page.Run, error) {
	var run page.Run
	err := readExport(ctx, path, func(r export.Reader) (err error) {
		run, err = page.Collect(ctx, path, r, analyze.Config{})
		return err
	})
	return run, err
}
