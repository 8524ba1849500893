package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// TestRequestsUndecided lists two levels of requests with one response each. Only the
// last request of the first level shows that the level was streamed.
func TestRequestsUndecided(t *testing.T) {
	for _, tt := range []struct {
		n      int
		zipped bool
	}{{10, false}, {3000, false}, {3000, true}} {
		n := tt.n
		path := filepath.Join(t.TempDir(), "run.json")
		one := `{"timestamp":1000,"response_timestamps":[1500]}`
		level := strings.Repeat(one+",", n)
		file := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + level + `{"timestamp":1000,"response_timestamps":[1500,1600]}]},` +
			`{"experiment":{"mode":"concurrency","value":2},"requests":[` + level + one + `]}],"version":"","service_kind":"","endpoint":""}`
		if tt.zipped {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := io.WriteString(z, file); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			file = b.String()
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		opener := export.Opener{Formats: []export.Format{profilejson.Format{}}}
		r, err := opener.Open(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		var got ttfts
		var l List
		if err := l.Write(context.Background(), r, &got); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		want := append(slices.Repeat([]string{"{500 true}"}, n+1), slices.Repeat([]string{"{0 false}"}, n+1)...)
		if !slices.Equal(got, want) {
			t.Errorf("%d requests in a level: %d rows, want %d: the first level's with a TTFT, the second level's without", n, len(got), len(want))
		}
	}
}

// ttfts keeps the TTFT of each row.
type ttfts []string

func (t *ttfts) Write(row *Row) error {
	*t = append(*t, fmt.Sprint(row.TTFT))
	return nil
}

func (t *ttfts) Flush() error { return nil }
