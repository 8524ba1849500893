package columnar

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// The header of a run is stored as the text of a profile_export.json that has
// no requests, so that one document describes both.

// runText returns the header of run.
func runText(run *export.Run) ([]byte, error) {
	var b bytes.Buffer
	w := profilejson.NewWriter(&b)
	if run == nil {
		run = &export.Run{}
	}
	for i := range run.Experiments {
		e := &run.Experiments[i]
		if err := errors.Join(w.BeginExperiment(e.Mode, e.Value), w.EndExperiment(e)); err != nil {
			return nil, errors.Join(err, w.Close(nil))
		}
	}
	if err := w.Close(run); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// parseRun is the inverse of runText. name says in messages where the text is.
func parseRun(name string, text []byte, lim export.Limits) (*export.Run, []export.Warning, error) {
	r, err := profilejson.NewReader(context.Background(), name, bytes.NewReader(text), int64(len(text)), lim)
	if err != nil {
		return nil, nil, err
	}
	if r.Next() {
		return nil, nil, fmt.Errorf("%s: holds requests", name)
	}
	if err := errors.Join(r.Err(), r.Close()); err != nil {
		return nil, nil, err
	}
	return r.Run(), r.Warnings(), nil
}

// A fileMetadata is the keys and values that are added to the schema. The zero
// value is none.
type fileMetadata struct{ keys, values []string }

func (m *fileMetadata) add(key, value string) {
	m.keys, m.values = append(m.keys, key), append(m.values, value)
}

// runMetadata returns the metadata that hold text. Arrow and Parquet want
// UTF-8 there.
func runMetadata(text []byte) (m fileMetadata) {
	if utf8.Valid(text) {
		m.add(runKey, string(text))
	} else {
		m.add(runBytesKey, base64.StdEncoding.EncodeToString(text))
	}
	return m
}

// metadataOf returns the metadata of a file of run with telemetry t. deriver computed its
// derived columns; nil if it has none.
func metadataOf(run *export.Run, t *telemetryBuffer, deriver export.Deriver) (fileMetadata, error) {
	text, err := runText(run)
	if err != nil {
		return fileMetadata{}, err
	}
	m := runMetadata(text)
	if deriver != nil {
		d, err := derivationText(deriver.Derivation())
		if err != nil {
			return m, err
		}
		m.add(derivedKey, d)
	}
	err = t.metadata(&m)
	return m, err
}

// textOfMetadata is the inverse of runMetadata. get returns "" for a key that
// is missing; so does textOfMetadata for the text.
func textOfMetadata(get func(key string) string) ([]byte, error) {
	if s := get(runKey); s != "" {
		return []byte(s), nil
	}
	text, err := base64.StdEncoding.DecodeString(get(runBytesKey))
	if err != nil {
		return nil, fmt.Errorf("metadata %s: %w", runBytesKey, err)
	}
	return text, nil
}

// readHeader makes sure that a file with these columns is one of requests, and
// returns what its metadata say.
func readHeader(name string, columns []string, get func(key string) string, lim export.Limits) (header, error) {
	h := header{name: name}
	if v := get(versionKey); v != "" && v != Version && v != oldVersion {
		return h, fmt.Errorf("%s: was written as %.40q; this version reads %s and %s: use a newer one", name, v, oldVersion, Version)
	}
	for _, col := range []string{"start_ns", "recv_ns"} {
		if !slices.Contains(columns, col) {
			return h, fmt.Errorf("%s: holds no requests: expected the columns of %s, found none called %s", name, Version, col)
		}
	}
	if v := get(derivedKey); v != "" {
		d, err := parseDerivation(v)
		if err != nil {
			return h, fmt.Errorf("%s: %w", name, err)
		}
		h.derivation = &d
	}
	text, err := textOfMetadata(get)
	if err != nil {
		return h, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) == 0 {
		return h, nil
	}
	run, warnings, err := parseRun(name+": metadata "+runKey, text, lim)
	h.run, h.warnings = run, append(h.warnings, warnings...)
	return h, err
}
