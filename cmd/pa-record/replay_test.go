package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
)

// A trace is replayed with its gaps: the instants in the export are the instants of the
// trace, and the server, in another process, got no request before its instant.
func TestReplayAtTheServer(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "1ms", "--itl", "1ms", "--output-tokens", "2")
	dir := t.TempDir()
	trace, file := filepath.Join(dir, "trace.jsonl"), filepath.Join(dir, "e.json")
	const text = `{"timestamp": 5000, "input_length": 3, "output_length": 2, "hash_ids": [1]}
{"timestamp": 5100, "input_length": 4, "output_length": 2, "hash_ids": [1]}
{"timestamp": 5100, "input_length": 5, "output_length": 2, "hash_ids": [2]}
{"timestamp": 5700, "input_length": 6, "output_length": 2, "hash_ids": [1]}
{"timestamp": 6000, "input_length": 7, "output_length": 2, "hash_ids": [3]}
`
	if err := os.WriteFile(trace, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-u", srv.openAI, "--streaming", "--input-data", trace,
		"--fixed-schedule", "--speed-up", "2", "--profile-export-file", file, "--quiet")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	entries := map[string]sim.Entry{}
	for _, e := range srv.ledger(t) {
		entries[e.ID] = e
	}
	_, requests := exporttest.Read(t, file)
	slices.SortFunc(requests, func(a, b export.Request) int { return cmp.Compare(a.ScheduledNS, b.ScheduledNS) })
	var gapsMS []uint64
	for i := range requests {
		r := &requests[i]
		gapsMS = append(gapsMS, (r.ScheduledNS-requests[0].ScheduledNS)/1e6)
		if r.StartNS < r.ScheduledNS {
			t.Errorf("request %d started %d ns before its instant", r.ID, r.ScheduledNS-r.StartNS)
		}
		id, ok := exporttest.AnswerID(r)
		if !ok {
			t.Fatalf("request %d: no id in the answer", r.ID)
		}
		e, ok := entries[id]
		if !ok {
			t.Fatalf("request %d is not in the ledger", r.ID)
		}
		if e.ReceivedNS < r.ScheduledNS {
			t.Errorf("request %d reached the server %d ns before its instant", r.ID, r.ScheduledNS-e.ReceivedNS)
		}
	}
	if want := []uint64{0, 50, 50, 350, 500}; !slices.Equal(gapsMS, want) {
		t.Errorf("instants at %v ms, want %v", gapsMS, want)
	}
}
