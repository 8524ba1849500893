package columnar

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

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
		d, err := derivationText(*derivation)
		if err != nil {
			return m, err
		}
		m.add(derivedKey, d)
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

// readHeader returns the header from the metadata of a file. It returns an error if columns
// lack a column that every file of requests has.
func readHeader(name string, columns []string, get func(key string) string, lim export.Limits) (header, error) {
	h := header{name: name}
	if v := get(versionKey); v != "" && v != Version {
		return h, fmt.Errorf("%s: the file has format %.40q, but this program reads %s; use a newer version of it", name, v, Version)
	}
	for _, col := range []string{"start_ns", "recv_ns"} {
		if !slices.Contains(columns, col) {
			return h, fmt.Errorf("%s: holds no requests: column %s of %s is missing", name, col, Version)
		}
	}
	if v := get(derivedKey); v != "" {
		d, err := parseDerivation(v)
		if err != nil {
			return h, fmt.Errorf("%s: %w", name, err)
		}
		h.derivation = &d
	}
	text, err := runTextOf(get)
	if err != nil {
		return h, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) == 0 {
		return h, nil
	}
	run, warnings, err := profilejson.ParseRun(name+": metadata "+runKey, text, lim)
	h.run, h.warnings = run, append(h.warnings, warnings...)
	return h, err
}

// A header holds the facts of a file that are read before its first batch.
type header struct {
	name       string
	run        *export.Run // nil if the file has none
	warnings   []export.Warning
	derivation *export.Derivation
	telemetry  []byte // compressed; nil if the file has none
	maxLine    int64
}

// readTelemetry reads the telemetry in the metadata of a file.
func (h *header) readTelemetry(get func(key string) string, lim export.Limits) {
	h.maxLine = lim.ValueBytes()
	var err error
	if h.telemetry, err = telemetryOf(get); err != nil {
		h.warnings = append(h.warnings, export.Warning{Name: h.name, Offset: -1, Where: "telemetry", Msg: err.Error(), Count: 1})
	}
}

// derivationText returns d as JSON.
func derivationText(d export.Derivation) (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

// parseDerivation is the inverse of derivationText.
func parseDerivation(text string) (d export.Derivation, err error) {
	if err = json.Unmarshal([]byte(text), &d); err != nil {
		return d, fmt.Errorf("metadata %s: %w", derivedKey, err)
	}
	return d, nil
}
