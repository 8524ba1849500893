package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxSummaryBytes bounds a summary: those of the tools have a few kilobytes.
const maxSummaryBytes = 16 << 20

// useSummary gives r, which reads the file at path, the summary beside it, if
// the tool writes one and it is there.
func useSummary(r Reader, path string) {
	if o, ok := r.(*opened); ok {
		r = o.Reader
	}
	s, ok := r.(Summarized)
	if !ok {
		return
	}
	folder, file := filepath.Split(path)
	for _, compressed := range []string{".gz", ".zst"} {
		file = strings.TrimSuffix(file, compressed)
	}
	name := s.SummaryName(file)
	if name == "" {
		return
	}
	name = folder + name
	content, err := readSummary(name)
	if !errors.Is(err, fs.ErrNotExist) {
		s.UseSummary(name, content, err)
	}
}

func readSummary(name string) (content []byte, err error) {
	// Opening a pipe would wait for its writer.
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content, err = io.ReadAll(io.LimitReader(f, maxSummaryBytes+1))
	if err == nil && len(content) > maxSummaryBytes {
		return nil, fmt.Errorf("%s: is larger than %d MiB", name, maxSummaryBytes>>20)
	}
	return content, err
}
