package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pa-tools/pa/internal/outfile"
	"github.com/pa-tools/pa/pkg/tool/perfanalyzer"
)

// writeCSV writes the file of -f, which is open at path, and one beside it for each composing
// model of an ensemble. Like perf_analyzer it overwrites existing files. It returns the names
// of the files.
func writeCSV(ctx context.Context, file *outfile.File, path string, s *perfanalyzer.Settings, levels []perfanalyzer.Level) (written []string, err error) {
	var b bytes.Buffer
	if err := s.WriteCSV(&b, levels); err != nil || b.Len() == 0 {
		return nil, err
	}
	files := append([]perfanalyzer.ModelFile{{Content: b.Bytes()}}, s.ComposingCSV(levels)...)
	for _, f := range files {
		write := func(w io.Writer) error {
			_, err := w.Write(f.Content)
			return err
		}
		name := path
		if f.Name == "" {
			err = file.Write(ctx, write)
		} else {
			name = filepath.Join(filepath.Dir(path), filepath.Base(f.Name)+"."+filepath.Base(path))
			err = outfile.Write(ctx, name, csvOptions(), write)
		}
		if err != nil {
			return written, fmt.Errorf("-f: %w", err)
		}
		written = append(written, name)
	}
	return written, nil
}
