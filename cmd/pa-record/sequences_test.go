package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// sequenceLengths reads what the server has of each sequence: that its requests came in
// order, one after the other's answer, and how many there were.
func sequenceLengths(t *testing.T, entries []sim.Entry) map[uint64]int {
	t.Helper()
	lengths, ended := map[uint64]int{}, map[uint64]uint64{}
	slices.SortFunc(entries, func(a, b sim.Entry) int { return cmp.Compare(a.Index, b.Index) })
	for _, e := range entries {
		if e.End != sim.EndOK || len(e.Writes) != 1 {
			t.Fatalf("request %d of sequence %d: %s %s", e.Index, e.SequenceID, e.End, e.Message)
		}
		if last := ended[e.SequenceID]; e.ReceivedNS < last {
			t.Errorf("request %d of sequence %d came before the last one was answered", e.Index, e.SequenceID)
		}
		ended[e.SequenceID] = e.Writes[0].SentNS
		lengths[e.SequenceID]++
		if e.SequenceEnd {
			ended[e.SequenceID] = 0
		}
	}
	for id, ns := range ended {
		if ns != 0 {
			t.Errorf("sequence %d did not end", id)
		}
	}
	return lengths
}

// Multi-step input data becomes sequences, over every protocol: the server, which
// refuses what is out of order, adds up each, and the export has the sums.
func TestSequencesEndToEnd(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "steps.json")
	if err := os.WriteFile(data, []byte(`{"data":[[{"INPUT":[1]},{"INPUT":[10]},{"INPUT":[100]}],[{"INPUT":[5]},{"INPUT":[6]}]]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, protocol, load string }{
		{"HTTP", "-i http", "--concurrency-range 3 --request-count 24"},
		{"unary", "-i grpc", "--concurrency-range 3 --request-count 24"},
		{"stream", "-i grpc --async --streaming", "--concurrency-range 3 --request-count 24"},
		{"stream, rate", "-i grpc --async --streaming", "--request-rate-range 200 --num-of-sequences 2 --request-count 24"},
		{"HTTP, warm-up and levels", "-i http", "--concurrency-range 1,2 --request-count 12 --warmup-request-count 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: plan.ConstantDelay(1e6)})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			url, out := srv.TritonHTTPURL(), filepath.Join(t.TempDir(), "e.json")
			if strings.Contains(tt.protocol, "grpc") {
				url = srv.TritonGRPCAddr()
			}
			args := strings.Fields(tt.protocol + " " + tt.load + " -m sequence --serial-sequences --quiet --input-data " + data + " --profile-export-file " + out + " -u " + url)
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, stderr)
			}
			if err := srv.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			for id, n := range sequenceLengths(t, srv.Ledger()) {
				if n > 3 {
					t.Errorf("sequence %d has %d requests, more than a stream", id, n)
				}
			}
			sums := map[string]bool{"1": true, "11": true, "111": true, "5": true, "16": true}
			_, requests := exporttest.Read(t, out)
			seen := map[string]int{}
			for _, r := range requests {
				if r.SequenceID == 0 || len(r.Responses) != 1 {
					t.Fatalf("request %+v, want one of a sequence with one response", r)
				}
				sum := string(r.Responses[0].Outputs[0].Value.Data)
				seen[sum]++
				if !sums[sum] && sum != "11" {
					t.Errorf("sequence %d: sum %s", r.SequenceID, sum)
				}
			}
			if seen["111"] == 0 || seen["11"] < seen["111"] || seen["5"] == 0 {
				t.Errorf("sums %v, want both streams", seen)
			}
		})
	}
}

// Made-up tensors make sequences of 20 ± 20 %, or as long as is asked, with ids of the
// range that is asked.
func TestMadeUpSequences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		flags              string
		shortest, longest  int
		firstID, highestID uint64
	}{
		{"", 16, 24, 1, 1 << 32},
		{"--sequence-length 4 --sequence-length-variation 0 --sequence-id-range 50:53", 4, 4, 50, 53},
	} {
		srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: plan.ConstantDelay(1e5)})
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "e.json")
		args := strings.Fields("-m sequence --input-data zero -i grpc --concurrency-range 2 --request-count 100 --quiet -u " + srv.TritonGRPCAddr() + " --profile-export-file " + out + " " + tt.flags)
		code, _, stderr := inProcess(t.Context(), t, args...)
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		if code != 0 {
			t.Fatalf("%q: exit code %d:\n%s", tt.flags, code, stderr)
		}
		length, whole := map[uint64]int{}, 0
		for _, e := range srv.Ledger() {
			if e.End != sim.EndOK || e.SequenceID < tt.firstID || e.SequenceID > tt.highestID {
				t.Fatalf("%q: sequence %d: %s %s", tt.flags, e.SequenceID, e.End, e.Message)
			}
			if length[e.SequenceID]++; !e.SequenceEnd {
				continue
			}
			n := length[e.SequenceID]
			delete(length, e.SequenceID)
			if n >= tt.shortest && n <= tt.longest {
				whole++
			} else if whole == 0 || n > tt.longest {
				t.Errorf("%q: sequence %d has %d requests, want %d to %d", tt.flags, e.SequenceID, n, tt.shortest, tt.longest)
			}
		}
		if whole < 100/(tt.longest+1)-2 {
			t.Errorf("%q: %d whole sequences", tt.flags, whole)
		}
	}
}
