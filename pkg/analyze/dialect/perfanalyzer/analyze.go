package perfanalyzer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/analyze/dialect"
	"github.com/pa-tools/pa/pkg/analyze/dialect/explain"
	"github.com/pa-tools/pa/pkg/export"
)

// A Report is a run as perf_analyzer prints it. It is a [dialect.Report].
type Report struct {
	Settings Settings
	Levels   []Level // in the order of the run

	warnings []error

	explainer *explain.Explainer // nil unless Config.Explain
	remarks   []error            // of the warnings, those about requests and windows
}

var _ dialect.Report = (*Report)(nil)

// Warnings implements [dialect.Report].
func (r *Report) Warnings() []error { return r.warnings }

// Console implements [dialect.Report]: the settings, each level, the summary.
// perf_analyzer knows no width.
func (r *Report) Console(w io.Writer, _ int) error {
	if err := r.Settings.Write(w); err != nil {
		return err
	}
	for i := range r.Levels {
		if err := r.Settings.WriteLevel(w, &r.Levels[i]); err != nil {
			return err
		}
	}
	return r.Settings.WriteSummary(w, r.Levels)
}

// CSV implements [dialect.Report]: the file that -f names.
func (r *Report) CSV(w io.Writer) error { return r.Settings.WriteCSV(w, r.Levels) }

// JSON implements [dialect.Report]: perf_analyzer writes none.
func (r *Report) JSON(io.Writer) error { return dialect.ErrNoFormat }

func (r *Report) warnf(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Errorf(format, args...))
}

// Analyze reads a run to its end and reports its levels, or the one that cfg
// names. A nil release stands for the one that wrote the file.
//
// The error is that of the reader, in which case the report is of what could be
// read, or says why there is no report.
func Analyze(ctx context.Context, release *Release, r export.Reader, cfg dialect.Config) (*Report, error) {
	run := r.Run()
	settings, err := SettingsOf(run)
	if err != nil {
		return nil, err
	}
	if release != nil {
		settings.Release = release
	}
	if err := settings.apply(&cfg); err != nil {
		return nil, err
	}
	settings.seek(run)
	c := newCollector(run, &settings)
	c.explainer = dialect.NewExplainer(run, cfg)
	if cfg.Level != (dialect.Level{}) {
		if err := c.only(cfg.Level); err != nil {
			return nil, err
		}
	}
	if err = c.read(ctx, r); err == nil {
		err = c.readGPUs(ctx, r)
	}
	rep := c.report(&cfg)
	if len(run.Experiments) == 0 {
		return nil, errors.Join(err, errors.New("holds no experiment: nothing was measured"))
	}
	return rep, err
}

// only leaves out all levels but one.
func (c *collector) only(want dialect.Level) error {
	found := false
	var all []string
	for i := range c.levels {
		e := &c.run.Experiments[i]
		match := (want.Mode == "" || want.Mode == e.Mode) && want.Value == e.Value
		c.levels[i].skip = !match
		found = found || match
		all = append(all, e.Mode+":"+e.Value)
	}
	if !found {
		return fmt.Errorf("no load level %s; there are %s", strings.TrimPrefix(want.Mode+":"+want.Value, ":"), sanitize.Text(strings.Join(all, ", ")))
	}
	return nil
}
