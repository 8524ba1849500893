//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/export/shards"
)

// Made-up shards are one whole run, without a warning, and the same files each time.
func TestShards(t *testing.T) {
	const ranks, requests, tokens = 3, 1001, 6
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		for rank := range ranks {
			m := madeUp{requests: requests, tokens: tokens, counts: oneToken, rank: rank, ranks: ranks}
			if _, err := m.create(filepath.Join(dir, fmt.Sprintf("%03d.parquet", rank))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all []shards.Shard
	opener := export.Opener{Formats: formats.Readers()}
	for _, name := range []string{"000.parquet", "001.parquet", "002.parquet"} {
		one, err := os.ReadFile(filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(dirs[1], name))
		if err != nil {
			t.Fatal(err)
		}
		if string(one) != string(two) {
			t.Errorf("%s differs between two runs of the same size", name)
		}
		r, err := opener.Open(t.Context(), filepath.Join(dirs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, shards.Shard{Name: name, Reader: r})
	}
	r, err := shards.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Missing(); err != nil {
		t.Error(err)
	}
	ok, failed, last := 0, 0, uint64(0)
	for r.Next() {
		q := r.Request()
		switch q.Excluded() {
		case "":
			ok++
			if len(q.Responses) != tokens || q.ID <= last {
				t.Fatalf("request %d after %d has %d responses, want %d", q.ID, last, len(q.Responses), tokens)
			}
			last = q.ID
		case "failed":
			failed++
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if want := ranks * (requests - 1); ok != want || failed != ranks || len(r.Warnings()) > 0 {
		t.Errorf("%d requests, %d failed, warnings %v; want %d, %d and none", ok, failed, r.Warnings(), want, ranks)
	}
}
