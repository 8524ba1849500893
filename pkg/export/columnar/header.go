package columnar

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// The header of a run is stored as the text of a profile_export.json without requests, so
// that the same document describes both.

// runTextMetadata returns metadata with text, in base64 if text is not UTF-8: Arrow and
// Parquet require UTF-8.
func runTextMetadata(text []byte) (m fileMetadata) {
	if utf8.Valid(text) {
		m.add(runKey, string(text))
	} else {
		m.add(runBytesKey, base64.StdEncoding.EncodeToString(text))
	}
	return m
}

// metadataOf returns the metadata of a file with the header of run and telemetry t. derivation
// describes the derived columns; it is nil if the file has none.
func metadataOf(run *export.Run, t *telemetryBuffer, derivation *export.Derivation) (fileMetadata, error) {
	text, err := profilejson.RunText(run)
	if err != nil {
		return fileMetadata{}, err
	}
	m := runTextMetadata(text)
	if derivation != nil {
		d, err := json.Marshal(derivation)
		if err != nil {
			return m, err
		}
		m.add(derivedKey, string(d))
	}
	err = t.metadata(&m)
	return m, err
}

// runTextOf is the inverse of runTextMetadata. get returns "" for a missing key. runTextOf
// returns no text if the metadata has none.
func runTextOf(get func(key string) string) ([]byte, error) {
	if s := get(runKey); s != "" {
		return []byte(s), nil
	}
	text, err := base64.StdEncoding.DecodeString(get(runBytesKey))
	if err != nil {
		return nil, fmt.Errorf("metadata %s: %w", runBytesKey, err)
	}
	return text, nil
}

// readHeader returns the header from the metadata of a file. It returns an error if the file
// lacks a column that every file of requests has; has reports whether it has a column.
func readHeader(name string, has func(col string) bool, get func(key string) string, lim export.Limits) (header, error) {
	h := header{name: name, maxLine: lim.ValueBytes()}
	if v := get(versionKey); v != "" && v != Version {
		return h, fmt.Errorf("%s: the file has format %.40q, but this program reads %s; use a newer version of it", name, v, Version)
	}
	for _, col := range []string{"start_ns", "recv_ns"} {
		if !has(col) {
			return h, fmt.Errorf("%s: holds no requests: column %s of %s is missing", name, col, Version)
		}
	}
	if v := get(derivedKey); v != "" {
		h.derivation = new(export.Derivation)
		if err := json.Unmarshal([]byte(v), h.derivation); err != nil {
			return h, fmt.Errorf("%s: metadata %s: %w", name, derivedKey, jsonscan.InWords(err))
		}
	}
	text, err := runTextOf(get)
	if err != nil {
		return h, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > 0 {
		if h.run, h.warnings, err = profilejson.ParseRun(name+": metadata "+runKey, text, lim); err != nil {
			return h, err
		}
	}
	if h.telemetry, err = telemetryOf(get); err != nil {
		h.warnings = append(h.warnings, export.Warning{Name: name, Offset: -1, Where: "telemetry", Msg: err.Error(), Count: 1})
	}
	return h, nil
}

// A header holds the facts of a file that are read before its first batch.
type header struct {
	name       string
	run        *export.Run // nil if the file has none
	warnings   []export.Warning
	derivation *export.Derivation // of the derived columns; nil without these
	telemetry  []byte             // compressed; nil if the file has none
	maxLine    int64
}
