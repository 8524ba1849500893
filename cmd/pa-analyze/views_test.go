package main_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/view"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/columnar"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// The views of a run in JSON equal the views of the run in Parquet, which has stored answers. The
// views of shards in memory equal the views of the shards in Parquet.
func TestViews(t *testing.T) {
	dir := t.TempDir()
	whole := memrun.RandomRun(rand.New(rand.NewPCG(9, 1)), 150, "9", "18")
	for _, requests := range whole.Requests {
		for k := range requests {
			requests[k].Connect = time.Duration(k % 1000) // of the 1000 ns before the start
		}
	}
	stored := func(name string, r *memrun.Reader) export.Reader {
		path := filepath.Join(dir, name)
		exporttest.Write(t, path, memrun.Again(r))
		return exporttest.Open(t, path)
	}
	var memory, files []shards.Shard
	for i, part := range memrun.Divide(whole, 3) {
		name := fmt.Sprint(i, ".parquet")
		memory = append(memory, shards.Shard{Name: name, Reader: memrun.Again(part)})
		files = append(files, shards.Shard{Name: name, Reader: stored(name, part)})
	}
	merged := func(all []shards.Shard) export.Reader {
		r, err := shards.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, tt := range []struct {
		name      string
		want, got export.Reader
	}{
		{"a file", stored("whole.json", whole), stored("whole.parquet", whole)},
		{"shards", merged(memory), merged(files)},
	} {
		var levels [2][]view.Level
		for i, r := range []export.Reader{tt.want, tt.got} {
			run, err := view.Collect(t.Context(), r, view.Config{})
			if err != nil {
				t.Fatal(err)
			}
			levels[i] = run.Levels
		}
		if len(levels[0]) != 2 || levels[0][0].GapsByTime.N == 0 {
			t.Errorf("%s: %d levels", tt.name, len(levels[0]))
		}
		sameCounts := cmp.Comparer(func(a, b *analyze.Experiment) bool { return a.OK == b.OK && len(a.Metrics) == len(b.Metrics) })
		if d := cmp.Diff(levels[0], levels[1], cmpopts.EquateNaNs(), sameCounts); d != "" {
			t.Errorf("%s (-without columns +Parquet):\n%s", tt.name, d)
		}
	}
}

// chats writes streamed chats of 100 tokens each, as JSON and as Parquet, and returns the paths.
func chats(b *testing.B, n int) (json, parquet string) {
	b.Helper()
	dir := b.TempDir()
	json, parquet = filepath.Join(dir, "run.json"), filepath.Join(dir, "run.parquet")
	kind, endpoint, streaming := "openai", "v1/chat/completions", true
	run := &export.Run{ServiceKind: &kind, Endpoint: &endpoint, Meta: &export.RunMeta{Schema: export.Schema, Tool: "x", Streaming: &streaming}}
	create := func(path string) *os.File {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { f.Close() })
		return f
	}
	p, err := columnar.NewParquetWriter(create(parquet), answer.NewDeriver(run))
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range []export.Writer{profilejson.NewWriter(create(json)), p} {
		err := w.BeginExperiment(export.ModeConcurrency, "8")
		for i := range n {
			pieces := make([]string, 100)
			for k := range pieces {
				pieces[k] = memrun.Delta(fmt.Sprint(" word", i+k))
			}
			q := memrun.OpenAI(append(pieces, memrun.Usage5)...)
			q.HasMeta, q.ID, q.Status, q.Worker = true, uint64(i+1), export.StatusOK, i%8
			q.StartNS = 1_700_000_000_000_000_000 + uint64(i)*150e6
			for k := range q.Responses {
				q.Responses[k].RecvNS = q.StartNS + 80e6 + uint64(k*11e6+i*k%97*1e4)
			}
			if err == nil {
				err = w.WriteRequest(&q)
			}
		}
		if err == nil {
			err = w.EndExperiment(&export.Experiment{})
		}
		if err == nil {
			err = w.Close(run)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return json, parquet
}

// Collect beside the report alone, of 2,000 chats of 100 tokens, from the file to the result.
func BenchmarkCollect(b *testing.B) {
	const n = 2000
	json, parquet := chats(b, n)
	opener := export.Opener{Formats: formats.Readers()}
	for _, file := range []struct{ name, path string }{{"json", json}, {"parquet", parquet}} {
		info, err := os.Stat(file.path)
		if err != nil {
			b.Fatal(err)
		}
		for _, what := range []string{"report", "view"} {
			b.Run(file.name+"/"+what, func(b *testing.B) {
				b.SetBytes(info.Size())
				b.ReportAllocs()
				for b.Loop() {
					r, err := opener.Open(b.Context(), file.path)
					if err != nil {
						b.Fatal(err)
					}
					requests := 0
					if what == "view" {
						run, err := view.Collect(b.Context(), r, view.Config{})
						if err != nil {
							b.Fatal(err)
						}
						requests = len(run.Levels[0].Requests)
					} else {
						report, err := analyze.Run(b.Context(), r, analyze.Config{})
						if err != nil {
							b.Fatal(err)
						}
						requests = report.Requests
					}
					if err := r.Close(); err != nil || requests != n {
						b.Fatalf("%d requests, %v", requests, err)
					}
				}
			})
		}
	}
}
