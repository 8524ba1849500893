package publish

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/analyze/sheet"
)

// A Form is a form in which figures are written.
type Form struct {
	Name string // the value of --to
	// NeedsTime says that each figure needs a time.
	NeedsTime bool
	// Write writes the figures of runs into one file; nil for a form of several files.
	Write func([]*Run) sheet.Renderer
	// Files returns the files of a form that is a folder, for a folder at this path; nil for other forms.
	Files func(folder string, runs []*Run) []File
}

// A File is a file of a form that is a folder.
type File struct {
	Path    string // with the folder
	Content []byte // nil for an empty folder
	Folder  string // all files in this folder belong together; "" for a file on its own
	// Shared says that runs share the file: one that is there already stays.
	Shared bool
}

// Forms are all forms.
var Forms = []Form{
	{Name: "openmetrics", NeedsTime: true, Write: openMetrics},
	{Name: "otlp-json", NeedsTime: true, Write: otlp},
	{Name: "mlflow", NeedsTime: true, Files: mlflow},
	{Name: "pytorch-hud", Write: pytorch},
	{Name: "influx", NeedsTime: true, Write: influx},
}

// Find returns the form with a name. The error lists the names.
func Find(name string) (*Form, error) {
	var names []string
	for i := range Forms {
		if Forms[i].Name == name {
			return &Forms[i], nil
		}
		names = append(names, Forms[i].Name)
	}
	return nil, fmt.Errorf("%q: give one of %s", name, strings.Join(names, ", "))
}

// Prepare gives all figures the time at, unless it is zero. The notes say what the form leaves out. The error says that the form needs
// a time that a run does not have.
func (f *Form) Prepare(runs []*Run, at time.Time) (notes []string, err error) {
	for _, r := range runs {
		if len(r.Levels) == 0 {
			return nil, fmt.Errorf("%s: no load level has figures", r.File)
		}
		if !at.IsZero() {
			r.setTime(at)
		}
		if f.NeedsTime && !r.timed() {
			return nil, fmt.Errorf("%s does not say when the run was, which %s needs; give --time, such as --time 2026-01-31T12:00:00Z", r.File, f.Name)
		}
		if r.Missing > 0 {
			notes = append(notes, fmt.Sprintf("%s: %s without a value (n/a) left out; pa-analyze report says why", r.File, plural.GroupedOf(r.Missing, "figure")))
		}
	}
	return notes, nil
}

// partialSuffix ends the name of a folder that is being written.
const partialSuffix = ".pa-partial"

// WriteFolder makes the folders of the form's files and writes each file with write. A new [File.Folder] gets its name when
// the files of all are complete. After an error nothing is there that was not there before.
func (f *Form) WriteFolder(folder string, runs []*Run, write func(path string, content func(io.Writer) error) error) (err error) {
	var made, partial []string // made does not count what is in partial folders
	defer func() {
		if err == nil {
			return
		}
		for _, dir := range partial {
			err = errors.Join(err, os.RemoveAll(dir+partialSuffix))
		}
		for _, path := range slices.Backward(made) {
			_ = os.Remove(path) // a folder stays if it holds something else
		}
	}()
	for _, x := range f.Files(folder, runs) {
		path := x.Path
		if x.Folder != "" && !slices.Contains(partial, x.Folder) {
			if _, err := os.Lstat(x.Folder); err != nil {
				partial = append(partial, x.Folder)
				if err := os.RemoveAll(x.Folder + partialSuffix); err != nil { // a killed process left it
					return err
				}
			}
		}
		isPartial := slices.Contains(partial, x.Folder)
		if isPartial {
			path = x.Folder + partialSuffix + strings.TrimPrefix(path, x.Folder)
		}
		dir := path
		if x.Content != nil {
			dir = filepath.Dir(path)
		}
		if !isPartial {
			made = append(made, missing(dir)...)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return disk.Unmade(err)
		}
		if x.Content == nil {
			continue
		}
		_, there := os.Lstat(path)
		if there == nil && x.Shared {
			continue
		}
		err := write(path, func(w io.Writer) error {
			_, err := w.Write(x.Content)
			return err
		})
		if out, ok := errors.AsType[*disk.OutputError](err); ok {
			out.Path = x.Path
		}
		if err != nil {
			return err
		}
		if there != nil && !isPartial {
			made = append(made, path)
		}
	}
	for len(partial) > 0 {
		if err := os.Rename(partial[0]+partialSuffix, partial[0]); err != nil {
			return err
		}
		made, partial = nil, partial[1:] // what is complete stays
	}
	return nil
}

// missing returns the folders on the way to dir, and dir, that are not there.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(all)
			return all
		}
		all, dir = append(all, dir), filepath.Dir(dir)
	}
}

// distinctNames gives each of several runs a name of its own: the file where names are equal.
func distinctNames(runs []*Run) []string {
	count := map[string]int{}
	for _, r := range runs {
		count[r.Name]++
	}
	names := make([]string, len(runs))
	for i, r := range runs {
		if names[i] = r.Name; count[r.Name] > 1 {
			names[i] = r.File
		}
	}
	return names
}

// A label is a name with a value.
type label struct{ name, value string }

// labels returns what tells a figure from others of the same name; empty values are left out.
func labels(run string, r *Run, l *Level, f *Figure) []label {
	all := make([]label, 0, 9)
	for _, x := range []label{
		{"run", run},
		{"definitions", r.Definitions},
		{"tool", r.Tool},
		{"model", f.Model},
		{"level", l.Name},
		{"mode", l.Mode},
		{"load", l.Value},
		{"of", f.Of},
		{"statistic", f.Statistic},
	} {
		if x.value != "" {
			all = append(all, label{x.name, strings.ToValidUTF8(x.value, "�")})
		}
	}
	return all
}
