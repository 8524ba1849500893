package main_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// Shards in files of several formats merge into one run. The merged run can be written in every
// format, and its report equals the report of the shards to the last digit.
func TestShardFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	whole := memrun.RandomRun(rng, 150, "8", "16")
	parts := memrun.Divide(whole, 4, 0, 12_345_678, -3, 40)
	dir := t.TempDir()
	names := []string{"s.json", "s.parquet", "s.arrow", "s.journal"}
	open := func(names ...string) export.Reader {
		var all []shards.Shard
		for _, name := range names {
			all = append(all, shards.Shard{Name: name, Reader: exporttest.Open(t, filepath.Join(dir, name))})
		}
		m, err := shards.Merge(all)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for i, name := range names {
		exporttest.Write(t, filepath.Join(dir, name), memrun.Again(parts[i]))
	}
	// A journal begins without the facts of its levels. The journal of rank 3 is complete.
	got := runtest.Report(t, open(names...), analyze.Config{})
	if want := runtest.Report(t, memrun.Again(whole), analyze.Config{}); got != want {
		t.Errorf("mixed formats: %s", golden.FirstDifference([]byte(got), []byte(want)))
	}
	tables := []string{"0.parquet", "1.parquet", "2.parquet", "3.parquet"}
	for i, name := range tables {
		exporttest.Write(t, filepath.Join(dir, name), memrun.Again(parts[i]))
	}
	if d := export.StoredIn(open(tables...)); d == nil || d.TokenSource != "auto" {
		t.Errorf("derived values of tables: %v", d)
	}
	if export.StoredIn(open(names...)) != nil {
		t.Error("derived values although a shard has none")
	}
	merged := []string{"merged.json", "merged.parquet", "merged.arrow"}
	for _, name := range merged {
		copyTo(t, filepath.Join(dir, name), open(tables...))
	}
	for setting, cfg := range runtest.Configs() {
		want := runtest.Report(t, open(tables...), cfg)
		for _, name := range merged {
			if got := runtest.Report(t, exporttest.Open(t, filepath.Join(dir, name)), cfg); got != want {
				t.Errorf("%s, %s: %s", name, setting, golden.FirstDifference([]byte(got), []byte(want)))
			}
		}
	}
	reopened, ok, err := export.Reopen(t.Context(), open(names...))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := runtest.Report(t, reopened, analyze.Config{}); got != runtest.Report(t, memrun.Again(whole), analyze.Config{}) {
		t.Error("the reopened run differs")
	}
}

// copyTo writes the run of r into a file.
func copyTo(t *testing.T, path string, r export.Reader) {
	t.Helper()
	m := &memrun.Reader{Header: *r.Run(), Requests: make([][]export.Request, len(r.Run().Experiments))}
	for r.Next() {
		m.Requests[r.Experiment()] = append(m.Requests[r.Experiment()], *r.Request().Clone())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	exporttest.Write(t, path, m)
}
