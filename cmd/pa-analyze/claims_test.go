package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A number in a file that claims millions of token events, or numbers that claim millions of tokens of an event of
// each request, cost no command more than a few megabytes, and the commands that use the numbers say that they are
// wrong.
func TestClaimedEvents(t *testing.T) {
	counted := func(sum int) string { // a chunk with the number of tokens so far
		return fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"abc\"}}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":%d}}\n\n", sum)
	}
	for name, tt := range map[string]struct {
		pieces []string
		list   []uint32 // in the file; its second number becomes the claim
		every  bool     // each list becomes a claim, not only the first
		named  string
	}{
		"token_events": {
			[]string{memrun.Delta("a"), memrun.Delta("b") + memrun.Delta("c") + memrun.Delta("d"), memrun.Delta("e"), memrun.Delta("f") + memrun.Delta("g"), memrun.Delta("h"), memrun.Done},
			[]uint32{1, 3, 1, 2, 1, 0},
			false, "has 16000000 token events, but",
		},
		"event_tokens": {
			[]string{counted(1), counted(4), counted(5), counted(7), counted(8), memrun.Done},
			[]uint32{1, 3, 1, 2, 1, 1, 3, 1, 2, 1},
			true, "column event_tokens: an event of 16000000 tokens, which are too many for a request with 5 events",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []export.Request
			for i := range 100 {
				r := memrun.OpenAI(tt.pieces...)
				r.ID, r.HasMeta, r.StartNS = uint64(i+1), true, 1e18+uint64(i)*1e7
				for k := range r.Responses {
					r.Responses[k].RecvNS = r.StartNS + uint64(k+1)*1e6
				}
				r.FailedNS = r.StartNS + 1e7
				requests = append(requests, r)
			}
			dir := t.TempDir()
			honest, lying := filepath.Join(dir, "honest.arrow"), filepath.Join(dir, "lying.arrow")
			exporttest.Write(t, honest, memrun.New("openai", requests))
			data, err := os.ReadFile(honest)
			if err != nil {
				t.Fatal(err)
			}
			var list []byte
			for _, n := range tt.list {
				list = binary.LittleEndian.AppendUint32(list, n)
			}
			at := bytes.Index(data, list)
			if at < 0 {
				t.Fatal("the file has no such list")
			}
			for next := 0; next >= 0; next = bytes.Index(data[at:], list[:len(list)/2]) {
				at += next
				const claim = 16_000_000
				binary.LittleEndian.PutUint32(data[at+4:], claim)
				if !tt.every {
					break
				}
			}
			if err := os.WriteFile(lying, data, 0o600); err != nil {
				t.Fatal(err)
			}
			checkClaims(t, honest, lying, len(data), tt.named)
		})
	}
}

// checkClaims runs commands with the file lying, which has size bytes and claims too much, as honest does not. named
// is the warning about the claim.
func checkClaims(t *testing.T, honest, lying string, size int, named string) {
	t.Helper()
	for _, args := range [][]string{
		{"report", "FILE"},
		{"report", "--format", "json", "--windows", "1s", "FILE"},
		{"report", "--metrics", "quality", "FILE"},
		{"html", "FILE", "-o", "OUT.html"},
		{"diff", "FILE", honest, "--single-run"},
		{"diff", "FILE", honest, "--single-run", "--metrics", "quality"},
		{"check", "FILE"},
		{"validate", "FILE"},
		{"requests", "FILE"},
		{"trace", "FILE", "-o", "OUT.trace.json"},
		{"plot", "cdf", "FILE", "-o", "OUT.cdf.svg"},
		{"plot", "heatmap", "FILE", "-o", "OUT.heatmap.svg"},
		{"convert", "FILE", "OUT.parquet"},
		{"convert", "FILE", "OUT.json"},
	} {
		var printed result
		of := func(file string) []string {
			var all []string
			for _, a := range args {
				a = strings.Replace(a, "OUT", fmt.Sprint(file, "-", args[0]), 1)
				all = append(all, strings.Replace(a, "FILE", file, 1))
			}
			return all
		}
		exec(t, "", of(honest)...) // allocates the memory that the process allocates once
		testenv.BoundMemory(t, size, 48<<20, 100, func() { printed = exec(t, "", of(lying)...) })
		text := printed.stdout + printed.stderr
		if page := of(lying)[len(args)-1]; args[0] == "html" {
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		// A command that finds the row in its sample reads the recorded answers; convert computes the columns anew.
		found := strings.Contains(text, named) || strings.Contains(text, "lacks them, or has damaged ones; all figures are computed from the recorded answers")
		if found != (args[0] != "convert") {
			t.Errorf("%v: exit %d, %.1000s\n%.1000s", args, printed.code, printed.stderr, printed.stdout)
		}
		if args[0] == "validate" != (printed.code == 1) || printed.code > 1 {
			t.Errorf("%v: exit %d: %s", args, printed.code, printed.stderr)
		}
	}
}
