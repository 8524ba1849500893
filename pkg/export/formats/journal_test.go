package formats

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
)

// A run that went through a journal gives the same bytes in each export format as the run itself,
// wherever the requests that do not count were among the others.
func TestThroughJournal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 41))
		run := memrun.RandomRun(random, 60, "8", "16", "2")
		var journal bytes.Buffer
		w, err := recordlog.NewWriter(recordlog.To(&journal), &run.Header)
		if err != nil {
			t.Fatal(err)
		}
		mixed := memrun.Again(run)
		for _, level := range mixed.Requests {
			// The requests that count come first, and then the others.
			others := slices.IndexFunc(level, func(r export.Request) bool { return r.Excluded() != export.NotExcluded })
			if others < 0 {
				t.Fatal("all requests count")
			}
			before := slices.Clone(level)
			counted, rest := before[:others], before[others:]
			for i := range level {
				from := &counted
				if len(counted) == 0 || len(rest) > 0 && random.IntN(len(level)) < len(rest) {
					from = &rest
				}
				level[i], *from = (*from)[0], (*from)[1:]
			}
		}
		if err := export.Copy(t.Context(), w, mixed); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"x.json", "x.json.gz", "x.json.zst", "x.parquet", "x.arrow"} {
			create, _ := ForName(name)
			write := func(src export.Reader) string {
				var out bytes.Buffer
				w, err := create(&out, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := export.Copy(t.Context(), w, src); err != nil {
					t.Fatal(err)
				}
				return out.String()
			}
			src, err := recordlog.Format().Open(t.Context(), "run.journal", bytes.NewReader(journal.Bytes()), int64(journal.Len()), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			want, got := write(memrun.Again(run)), write(src)
			if got != want || src.Err() != nil {
				t.Errorf("seed %d, %s: %d bytes differ from %d bytes: %v", seed, name, len(got), len(want), src.Err())
			}
			if len(run.Header.Experiments) == 0 || len(want) < 1000 {
				t.Fatalf("seed %d: %d bytes say little", seed, len(want))
			}
		}
	}
}
