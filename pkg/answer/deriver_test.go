package answer_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// derivedHash is answer.Definitions and the SHA-256 of what a Deriver computes from the golden
// exports.
const derivedHash = "5 0d1d27f2e7a4affcfa509b843b57bad55d5614eee10896e9c24db297c77a58cb"

// Derived columns in files of an older version must not be taken for the present ones: a
// change of what is derived needs another number of answer.Definitions, and then the new hash.
func TestDefinitionsNumber(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(data), int64(len(data)), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d := answer.NewDeriver(r.Run())
		for r.Next() {
			text, err := json.Marshal(d.Derive(r.Request()))
			if err != nil {
				t.Fatal(err)
			}
			h.Write(text)
		}
		if err := errors.Join(r.Err(), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprintf("%d %x", answer.Definitions, h.Sum(nil)); got != derivedHash {
		t.Errorf("derived: %s, want %s; raise answer.Definitions if the results changed", got, derivedHash)
	}
}
