package dataset

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// readMedium finds a picture or a sound: a URL (http, https, data), the content
// as "wav,BASE64" of GenAI-Perf, or the path of a file, which is looked for
// beside the dataset and in the working directory.
func readMedium(kind workload.MediumKind, where string, f *file) (workload.Medium, error) {
	m := workload.Medium{Kind: kind, URL: where}
	scheme, rest, ok := strings.Cut(where, ":")
	if ok && (scheme == "http" || scheme == "https") && strings.HasPrefix(rest, "//") || ok && scheme == "data" {
		return m, nil
	}
	if format, content, ok := strings.Cut(where, ","); ok && kind == workload.Audio && (format == "wav" || format == "mp3") {
		m.URL = "data:audio/" + format + ";base64," + content
		return m, nil
	}
	content, err := readBeside(where, f)
	if err != nil {
		return m, err
	}
	typ, err := mediaType(kind, content)
	if err != nil {
		return m, fmt.Errorf("%s: %w", where, err)
	}
	m.URL = "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(content)
	return m, nil
}

// readBeside reads a file by a path that is relative to the dataset's folder, or
// to the working directory.
func readBeside(path string, f *file) ([]byte, error) {
	most := f.src.bytes
	tries := []string{path}
	if !filepath.IsAbs(path) {
		tries = []string{filepath.Join(filepath.Dir(f.src.name), path), path}
	}
	for _, p := range tries {
		in, err := os.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(in, most+1))
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
		if int64(len(content)) > most {
			return nil, fmt.Errorf("%s: larger than %d bytes", p, most)
		}
		return content, nil
	}
	return nil, fmt.Errorf("%s: no such file; expected the path of a file, a URL, or data:…", clip([]byte(path)))
}

// mediaType returns the type of content, as servers that take media know it.
func mediaType(kind workload.MediumKind, content []byte) (string, error) {
	typ := http.DetectContentType(content)
	switch {
	case kind == workload.Image && strings.HasPrefix(typ, "image/"):
		return typ, nil
	case kind == workload.Audio && typ == "audio/wave":
		return "audio/wav", nil
	case kind == workload.Audio && (typ == "audio/mpeg" || len(content) > 1 && content[0] == 0xFF && content[1]&0xE0 == 0xE0):
		return "audio/mp3", nil // with and without tags ahead
	case kind == workload.Audio && bytes.HasPrefix(content, []byte("fLaC")):
		return "audio/flac", nil
	case kind == workload.Audio && bytes.HasPrefix(content, []byte("OggS")):
		return "audio/ogg", nil
	}
	return "", fmt.Errorf("is no %v that is known: it looks like %s", kind, typ)
}
