package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/regular"
)

// hints is what is kept for pa-analyze, by name.
type hints map[string]string

// output reads where exports go, and what they tell pa-analyze.
func (p *parser) output(s *Settings) {
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
func (s *Settings) MakeArtifactDir() error {
	if s.ArtifactDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.ArtifactDir, 0o777); err != nil {
		return fmt.Errorf("--artifact-dir: %w", err)
	}
	return nil
}

// csv reads -f.
func (p *parser) csv(s *Settings) {
	s.CSV, s.VerboseCSV = p.c.String("f"), p.c.Bool("verbose-csv")
	if !p.c.IsSet("f") {
		return
	}
	if err := checkCSV(s.CSV); err != nil {
		p.errorf("-f: %w", err)
	}
}

// checkCSV refuses a file for -f that cannot be written.
func checkCSV(path string) error {
	st, err := os.Stat(path)
	switch {
	case path == "" || path == "-":
		return errors.New("give the name of a file")
	case err == nil && st.IsDir():
		return fmt.Errorf("%s is a directory; give a file name", path)
	case err == nil:
		return nil
	}
	return regular.CheckFolder(filepath.Dir(path))
}
