package report

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
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

// An interrupted List writes the rows of the requests that it has read, also the ones that wait for the
// end of their level and the sorted ones.
func TestListInterrupted(t *testing.T) {
	const all, read = 20, 12
	for _, tt := range []struct {
		name      string
		responses int
		order     func(a, b *Row) int
	}{
		{"streamed", 2, nil},
		{"waiting", 1, nil},
		{"sorted", 2, func(_, _ *Row) int { return 0 }},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		r := &cutReader{Generated: memrun.NewGenerated(all, tt.responses, func() {}), after: read, cut: func() { cancel(interrupted) }}
		var got ttfts
		l := List{Order: tt.order}
		if err := l.Write(ctx, r, &got); !errors.Is(err, interrupted) || len(got) != read {
			t.Errorf("%s: %d rows, %v; want %d, and what ended the list", tt.name, len(got), err, read)
		}
	}
}

// A cutReader calls cut when it reads the request that follows the first ones.
type cutReader struct {
	*memrun.Generated
	after int
	cut   func()
}

func (r *cutReader) Next() bool {
	if r.after--; r.after < 0 {
		r.cut()
	}
	return r.Generated.Next()
}

// ttfts keeps the TTFT of each row.
type ttfts []string

func (t *ttfts) Write(row *Row) error {
	*t = append(*t, fmt.Sprint(row.TTFT))
	return nil
}

func (t *ttfts) Flush() error { return nil }
