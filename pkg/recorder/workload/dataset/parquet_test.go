package dataset

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// TestParquet checks that Parquet and JSON Lines give the same entries, if the library
// datasets wrote both from the same rows: see testdata/parquet.py.
func TestParquet(t *testing.T) {
	for _, name := range []string{"sharegpt", "openorca"} {
		var got [2][]string
		for i, suffix := range []string{".parquet", ".jsonl"} {
			s, err := Open(t.Context(), []string{"testdata/" + name + suffix}, Options{Count: words, Sessions: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got[i] = all(t, s)
			if f := s.Files()[0]; f.Layout != name || len(f.SHA256) != 64 {
				t.Errorf("%s%s: %+v", name, suffix, f)
			}
		}
		if len(got[0]) < 40 {
			t.Errorf("%s: %d entries", name, len(got[0]))
		}
		if diff := cmp.Diff(got[1], got[0]); diff != "" {
			t.Errorf("%s (-jsonl +parquet):\n%s", name, diff)
		}
	}
}

// TestParquetSessions checks that Parquet and JSON Lines give the same sessions.
func TestParquetSessions(t *testing.T) {
	var got [2][]string
	for i, suffix := range []string{".parquet", ".jsonl"} {
		s, err := Open(t.Context(), []string{"testdata/baseten" + suffix}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		sessions, ok := s.AsSessions()
		if !ok || s.Files()[0].Layout != "baseten" {
			t.Fatalf("read as %+v", s.Files()[0])
		}
		got[i] = withPast(t, sessions, graphs(t, sessions))
	}
	if diff := cmp.Diff(got[1], got[0]); diff != "" {
		t.Errorf("(-jsonl +parquet):\n%s", diff)
	}
	want := []string{
		"3 at:0s recorded",
		`root:0 past 0s–0s = "Prompt 0 of session 3" max:1 exact at:0s whole`,
		`root:1 past 800ms–1.55s after root:0+800ms = "Prompt 3 of session 3 and more and more and more" max:21 exact at:800ms whole`,
		`root:2 past 900ms–1.4s after root:1 = "Prompt 2 of session 3 and more and more" max:14 exact at:900ms whole`,
		`root:3 past 30s–31.75s after root:2+28.6s = "Prompt 7 of session 3 and more and more and more and more and more and more and more" max:21 exact at:30s whole`,
		"5 at:40ms recorded",
		`root:0 past 0s–250ms = "Prompt 1 of session 5 and more" max:7 exact at:40ms whole`,
		`root:1 past 1.96s–2.96s after root:0+1.71s = "Prompt 4 of session 5 and more and more and more and more" max:1 exact at:2s whole`,
		`root:2 past 5.96s after root:1+3s = "Prompt 5 of session 5 and more and more and more and more and more" max:7 exact at:6s whole`,
		`root:3 past 8.96s–10.46s after root:2+3s(start) root:2 = "Prompt 6 of session 5 and more and more and more and more and more and more" max:14 exact at:9s whole`,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTableMessages checks that messages of a table have no members that only others have.
func TestTableMessages(t *testing.T) {
	r := &row{fields: export.Fields{{Name: "input", Value: export.JSON(`[{"role":"user","content":"x","tool_calls":null},{"content":null,"role":"assistant","tool_calls":[{"id":null}]}]`)}}}
	e, err := (&file{}).wholeMessages(r, "input")
	if want := `[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":null}]}]`; err != nil || string(e.Prompt.Messages) != want {
		t.Errorf("%s, %v; want %s", e.Prompt.Messages, err, want)
	}
}

// TestParquetMedia checks images and audio in Parquet, in the form of the library datasets and
// as plain bytes.
func TestParquetMedia(t *testing.T) {
	const picture = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAADElEQVR4nGNgIB0AAAA0AAF2Xq7DAAAAAElFTkSuQmCC"
	for name, want := range map[string][][]workload.Medium{
		"media": {
			{{Kind: workload.Image, URL: picture}},
			{{Kind: workload.Audio, URL: "data:audio/wav;base64,UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAEA"}},
			{{Kind: workload.Image, URL: "https://example.com/b.png"}},
		},
		"bytes": {{{Kind: workload.Image, URL: picture}}},
	} {
		s, err := Open(t.Context(), []string{"testdata/" + name + ".parquet"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if notes := s.Notes(); len(notes) != 0 || s.Len() != len(want) {
			t.Errorf("%s: %d entries, notes %q", name, s.Len(), notes)
		}
		for k := range want {
			e, err := s.At(k)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[k], e.Prompt.Media); diff != "" {
				t.Errorf("%s: row %d (-want +got):\n%s", name, k, diff)
			}
		}
	}
}

func TestParquetErrors(t *testing.T) {
	b, err := os.ReadFile("testdata/openorca.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, in string
		o        Options
		want     string
	}{
		{"another layout", string(b), Options{Layout: "sharegpt"}, `in: row 0: is not a row of sharegpt, which has "conversations"; it has "id", "system_prompt", "question", "response"`},
		{"cut", string(b[:len(b)/2]), Options{}, "in: cut short at byte"},
		{"too long", string(b), Options{MaxRowBytes: 10}, "in: row 0: "},
	} {
		if _, err := open(t, "in", tt.in, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}
