package perfanalyzer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/pa-tools/pa/pkg/analyze/explain"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// A Report is a run as perf_analyzer prints it. It is a [dialect.Report].
type Report struct {
	Settings Settings
	Levels   []Level // in the order of the run

	warnings []error

	explainer *explain.Explainer // nil unless Config.Explain
	remarks   []error            // the warnings about requests and windows
}

var _ dialect.Report = (*Report)(nil)

// Warnings implements [dialect.Report].
func (r *Report) Warnings() []error { return r.warnings }

// Console implements [dialect.Report]: the settings, each level, the summary.
// perf_analyzer has no width.
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

// Tools returns the dialects: of the release that wrote the file, and of every release.
func Tools() []*dialect.Tool {
	names := fmt.Sprintf("%s-%s to -%s", family, releases[0].Name, latest().Name)
	all := []*dialect.Tool{newTool(family, nil)}
	all[0].Listed, all[0].Compared, all[0].Result.Listed = family, 3, names+", -latest"
	for i := range releases {
		all = append(all, newTool(family+"-"+releases[i].Name, &releases[i]))
	}
	all[1].Listed = names
	return append(all, newTool(family+"-latest", latest()))
}

// family is the name of the tool without a release.
const family = "perf_analyzer"

// newTool returns the dialect of a release under a name. A nil release means the
// release that wrote the file; result files are then the latest release's.
func newTool(name string, release *Release) *dialect.Tool {
	return &dialect.Tool{
		Name: name, Family: family, SkipsTokenizer: true, Levels: dialect.LevelRule{ReadAll: true},
		Options: []string{"batch-size", "percentile", "verbose", "verbose-csv"},
		New:     func(in dialect.Input) (dialect.Analysis, error) { return newAnalysis(release, in) },
		Result:  &dialect.ResultFile{WholeRun: true, Write: cmp.Or(release, latest()).write},
	}
}

// write writes profile_export.json as the release did.
func (r *Release) write(ctx context.Context, in export.Reader, _ dialect.Config, _ string, w io.Writer) (*dialect.Written, error) {
	dst := profilejson.NewReleaseWriter(w, r.minor, in.Run())
	err := export.Copy(ctx, dst, in)
	written := &dialect.Written{Warnings: dst.Warnings()}
	if in.Run().Meta != nil {
		written.Note = "perf_analyzer's file does not hold what pa-record adds: ids, phases, times of connecting and sending, reads, calibration, telemetry"
	}
	return written, err
}

func newAnalysis(release *Release, in dialect.Input) (*collector, error) {
	settings, err := SettingsOf(in.Run)
	if err != nil {
		return nil, err
	}
	if release != nil {
		settings.Release = release
	}
	if err := settings.apply(&in.Config); err != nil {
		return nil, err
	}
	settings.seek(in.Run)
	c := newCollector(in.Run, &settings)
	c.explainer, c.streaming = in.Explainer, in.Streaming
	for i := range c.levels {
		c.levels[i].skip = !slices.Contains(in.Levels, i)
	}
	return c, nil
}
