package dataset

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A mediumValue is an image or audio clip in a row, by its content or its location.
type mediumValue struct {
	content []byte // nil if only the location is known
	where   string
}

// parseMedia parses one medium or several. A string is a location. Content has the form of
// binary columns of Parquet, or the form of the library datasets:
//
//	{"b64": "…"}  {"bytes": {"b64": "…"}, "path": "…"}
func parseMedia(js []byte) ([]mediumValue, error) {
	var list []json.RawMessage
	if json.Unmarshal(js, &list) != nil {
		v, err := parseMedium(js)
		return []mediumValue{v}, err
	}
	var all []mediumValue
	for i, one := range list {
		v, err := parseMedium(one)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func parseMedium(js []byte) (v mediumValue, err error) {
	if js[0] == '"' {
		v.where, err = parseString(js)
		return v, err
	}
	var o struct {
		B64   []byte
		Bytes json.RawMessage
		Path  string
	}
	if err := json.Unmarshal(js, &o); err != nil {
		return v, fmt.Errorf("expected a string or bytes, found %s", clip(js))
	}
	switch {
	case o.B64 != nil:
		v.content = o.B64
	case len(o.Bytes) > 0 && o.Bytes[0] == '"':
		text, err := parseString(o.Bytes)
		v.content = []byte(text)
		return v, err
	case len(o.Bytes) > 0 && o.Bytes[0] == '{':
		return parseMedium(o.Bytes)
	case o.Path != "":
		v.where = o.Path
	default:
		return v, fmt.Errorf("neither \"bytes\" nor a \"path\" in %s", clip(js))
	}
	return v, nil
}

// readMedium turns a value into a medium. A location is a URL (http, https, data), content
// in GenAI-Perf's form "wav,BASE64", or the path of a file, which may be relative to the
// dataset or to the working directory.
func readMedium(kind workload.MediumKind, v mediumValue, f *file) (workload.Medium, error) {
	where := v.where
	m := workload.Medium{Kind: kind, URL: where}
	if v.content != nil {
		typ, err := mediaType(kind, v.content)
		m.URL = "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(v.content)
		return m, err
	}
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
	m.Name = filepath.Base(where)
	typ, err := mediaType(kind, content)
	if err != nil {
		return m, fmt.Errorf("%s: %w", where, err)
	}
	m.URL = "data:" + typ + ";base64," + base64.StdEncoding.EncodeToString(content)
	return m, nil
}

// readBeside reads a file by a path relative to the folder of the dataset, or to the working
// directory.
func readBeside(path string, f *file) ([]byte, error) {
	most := f.src.maxRow
	tries := []string{path}
	if !filepath.IsAbs(path) {
		tries = []string{filepath.Join(filepath.Dir(f.src.name), path), path}
	}
	for _, p := range tries {
		in, err := disk.Open(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			// The path in err may be long or hold control characters.
			var cause *fs.PathError
			var special *disk.SpecialError
			if errors.As(err, &cause) {
				err = cause.Err
			} else if errors.As(err, &special) {
				err = errors.New("is " + special.Kind)
			}
			return nil, fmt.Errorf("%q: %w; expected the path of a file, a URL, or data:…", clip([]byte(path)), err)
		}
		if f.opening && f.reading != nil {
			if err := f.reading(p); err != nil {
				return nil, errors.Join(err, in.Close())
			}
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

// mediaType returns the media type of content, in the form that servers expect.
func mediaType(kind workload.MediumKind, content []byte) (string, error) {
	typ := http.DetectContentType(content)
	switch {
	case kind == workload.Image && strings.HasPrefix(typ, "image/"):
		return typ, nil
	case kind == workload.Audio && typ == "audio/wave":
		return "audio/wav", nil
	case kind == workload.Audio && (typ == "audio/mpeg" || len(content) > 1 && content[0] == 0xFF && content[1]&0xE0 == 0xE0):
		return "audio/mp3", nil // with or without ID3 tags at the start
	case kind == workload.Audio && bytes.HasPrefix(content, []byte("fLaC")):
		return "audio/flac", nil
	case kind == workload.Audio && bytes.HasPrefix(content, []byte("OggS")):
		return "audio/ogg", nil
	}
	return "", fmt.Errorf("is not a supported %v format: it looks like %s", kind, typ)
}
