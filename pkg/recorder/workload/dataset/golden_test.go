package dataset

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// TestGoldenInputData compares the reading of input files of real runs of perf_analyzer with
// encoding/json: both give the same values, or both give an error.
func TestGoldenInputData(t *testing.T) {
	g := golden.FS(t, "perf_analyzer")
	paths, err := fs.Glob(g, "*/*/prompts.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden input data: %v", err)
	}
	for _, p := range paths {
		text, err := fs.ReadFile(g, p)
		if err != nil {
			t.Fatal(err)
		}
		want, wantErr := plainSteps(text)
		s, err := open(t, "in", string(text), Options{})
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: error %v, encoding/json says %v", p, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		if s.Len() != len(want) {
			t.Errorf("%s: %d steps, want %d", p, s.Len(), len(want))
			continue
		}
		for k, step := range want {
			e, err := s.At(k)
			if err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if len(e.Values) != len(step) {
				t.Errorf("%s: step %d has %d values, want %d", p, k, len(e.Values), len(step))
			}
			for _, f := range e.Values {
				var compact bytes.Buffer
				if err := json.Compact(&compact, step[f.Name]); err != nil || !bytes.Equal(compact.Bytes(), f.Value.Data) {
					t.Errorf("%s: step %d: %s is %s, want %s", p, k, f.Name, f.Value.Data, compact.Bytes())
				}
			}
		}
	}
}

// plainSteps returns the steps of all streams, read by encoding/json.
func plainSteps(text []byte) (all []map[string]json.RawMessage, err error) {
	var doc struct{ Data []json.RawMessage }
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	for _, element := range doc.Data {
		stream := []map[string]json.RawMessage{nil}
		if json.Unmarshal(element, &stream[0]) != nil {
			if err := json.Unmarshal(element, &stream); err != nil {
				return nil, err
			}
		}
		all = append(all, stream...)
	}
	return all, nil
}
