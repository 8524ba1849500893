package validate

import (
	"bytes"
	"context"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

func open(t *testing.T, name string, b []byte) export.Reader {
	t.Helper()
	r, err := profilejson.NewReader(t.Context(), name, bytes.NewReader(b), int64(len(b)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// No golden export is in violation: perf_analyzer wrote them all.
func TestGoldenValid(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for name, b := range files {
		_, err := Run(context.Background(), open(t, name, b), Config{}, func(v Violation) {
			t.Errorf("%s: %v", name, v)
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
