package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hints is what is kept for pa-analyze, by name.
type hints map[string]string

// output reads where exports go, and what they tell pa-analyze.
func (p *settingsParser) output(s *settings) {
	if len(s.Exports) == 0 {
		s.Exports = []string{defaultExport}
	}
	if s.ArtifactDir = p.c.String("artifact-dir"); s.ArtifactDir != "" {
		for i, path := range s.Exports {
			if path != "" && path != "-" && !filepath.IsAbs(path) {
				s.Exports[i] = filepath.Join(s.ArtifactDir, path)
			}
		}
	}
	for _, text := range p.c.StringSlice("analysis-hint") {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			p.errorf("--analysis-hint %s: expected KEY=VALUE", text)
			continue
		}
		if s.Hints == nil {
			s.Hints = hints{}
		}
		s.Hints[key] = value
	}
}

// makeArtifactDir makes the folder of the exports.
func (s *settings) makeArtifactDir() error {
	if s.ArtifactDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.ArtifactDir, 0o777); err != nil {
		return fmt.Errorf("--artifact-dir: %w", err)
	}
	return nil
}
