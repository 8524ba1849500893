package main

import (
	"context"
	"slices"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/internal/regular"
)

// outputFiles holds the files of --html and -f, and exports that are pipes or devices. They
// are opened before anything is sent, so that a mistake is known then and the reader of a
// pipe stays.
type outputFiles struct {
	html *outfile.File            // nil: no page
	csv  map[string]*outfile.File // of -f, by path
	// exports are held until their run opens them.
	exports map[string]*outfile.File // by path
}

// openOutputs opens the outputs of all runs. The error is of type *cmdline.UsageError.
func openOutputs(ctx context.Context, s *settings.Settings, runs []settings.Run) (_ *outputFiles, err error) {
	o := &outputFiles{csv: map[string]*outfile.File{}, exports: map[string]*outfile.File{}}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	noFile := slices.ContainsFunc(runs, func(r settings.Run) bool { return firstRegular(r.Exports) == "" })
	for _, reads := range []struct {
		flag  string
		given bool
	}{{"html", s.HTML != ""}, {"report", s.Report}} {
		if reads.given && noFile {
			return nil, cmdline.Refusedf("--%s reads the export, and a pipe or a device cannot be read again; give a file as --profile-export-file too", reads.flag)
		}
	}
	if s.HTML != "" {
		if o.html, err = outfile.Open(ctx, s.HTML, outfile.Options{Overwrite: s.Overwrite}); err != nil {
			return nil, cmdline.Refusedf("--html %v", err)
		}
	}
	for i := range runs {
		if path := runs[i].CSV; path != "" && o.csv[path] == nil {
			if o.csv[path], err = outfile.Open(ctx, path, csvOptions()); err != nil {
				return nil, cmdline.Refusedf("-f: %v", err)
			}
		}
		for _, path := range runs[i].Exports {
			if o.exports[path] != nil || !regular.IsSpecial(path) {
				continue
			}
			if o.exports[path], err = outfile.Open(ctx, path, outfile.Options{Overwrite: true}); err != nil {
				return nil, cmdline.Refusedf("--profile-export-file %v", err)
			}
		}
	}
	return o, nil
}

// csvOptions are the options of the files of -f, which like perf_analyzer replaces them.
func csvOptions() outfile.Options {
	return outfile.Options{Overwrite: true, Perm: outfile.Figures}
}

// firstRegular returns the first path that is a regular file, or none yet; "" if there is
// none.
func firstRegular(paths []string) string {
	for _, path := range paths {
		if !regular.IsSpecial(path) {
			return path
		}
	}
	return ""
}

// opened closes the exports of a run, which has opened them itself.
func (o *outputFiles) opened(run *settings.Run) {
	for _, path := range run.Exports {
		_ = o.exports[path].Close()
	}
}

// close closes what was not written.
func (o *outputFiles) close() {
	_ = o.html.Close()
	for _, files := range []map[string]*outfile.File{o.csv, o.exports} {
		for _, f := range files {
			_ = f.Close()
		}
	}
}
