package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pa-tools/pa/pkg/analyze/dialect/perfanalyzer"
)

// writeCSV writes the file of -f, and one beside it for each composing model of an
// ensemble. Like perf_analyzer it overwrites existing files. It returns the names of the
// files.
func writeCSV(path string, s *perfanalyzer.Settings, levels []perfanalyzer.Level) (written []string, err error) {
	var b bytes.Buffer
	if err := s.WriteCSV(&b, levels); err != nil || b.Len() == 0 {
		return nil, err
	}
	files := append([]perfanalyzer.ModelFile{{Content: b.Bytes()}}, s.ComposingCSV(levels)...)
	for _, f := range files {
		name := path
		if f.Name != "" {
			name = filepath.Join(filepath.Dir(path), filepath.Base(f.Name)+"."+filepath.Base(path))
		}
		if err := os.WriteFile(name, f.Content, 0o666); err != nil {
			return written, fmt.Errorf("-f: %w", err)
		}
		written = append(written, name)
	}
	return written, nil
}
