package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/exporttest"
	"github.com/pa-tools/pa/internal/memrun"
	"github.com/pa-tools/pa/internal/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A number in a file that claims millions of token events costs no command more than a few
// megabytes, and the commands that use the number say that it is wrong.
func TestClaimedEvents(t *testing.T) {
	var requests []export.Request
	for i := range 100 {
		pieces := []string{memrun.Delta("a"), memrun.Delta("b") + memrun.Delta("c") + memrun.Delta("d"), memrun.Delta("e"), memrun.Delta("f") + memrun.Delta("g"), memrun.Delta("h"), memrun.Done}
		r := memrun.OpenAI(pieces...)
		r.ID, r.HasMeta, r.StartNS = uint64(i+1), true, 1e18+uint64(i)*1e7
		for k := range r.Responses {
			r.Responses[k].RecvNS = r.StartNS + uint64(k+1)*1e6
		}
		r.EndedNS = r.StartNS + 1e7
		requests = append(requests, r)
	}
	dir := t.TempDir()
	honest, lying := filepath.Join(dir, "honest.arrow"), filepath.Join(dir, "lying.arrow")
	exporttest.Write(t, honest, memrun.New("openai", requests))
	data, err := os.ReadFile(honest)
	if err != nil {
		t.Fatal(err)
	}
	var list []byte // of token_events of a request
	for _, n := range []uint32{1, 3, 1, 2, 1, 0} {
		list = binary.LittleEndian.AppendUint32(list, n)
	}
	at := bytes.Index(data, list)
	if at < 0 {
		t.Fatal("the file has no list of token events")
	}
	const claim = 16_000_000
	binary.LittleEndian.PutUint32(data[at+4:], claim)
	if err := os.WriteFile(lying, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"report", "FILE"},
		{"report", "--format", "json", "--windows", "1s", "FILE"},
		{"html", "FILE", "-o", "OUT.html"},
		{"diff", "FILE", honest, "--single-run"},
		{"check", "FILE"},
		{"validate", "FILE"},
		{"requests", "FILE"},
		{"trace", "FILE", "-o", "OUT.trace.json"},
		{"plot", "cdf", "FILE", "-o", "OUT.cdf.svg"},
		{"plot", "heatmap", "FILE", "-o", "OUT.heatmap.svg"},
		{"convert", "FILE", "OUT.parquet"},
		{"convert", "FILE", "OUT.json"},
	} {
		name := strings.Join(args[:2], " ")
		var printed result
		of := func(file string) []string {
			return slices.Collect(func(yield func(string) bool) {
				for _, a := range args {
					a = strings.Replace(a, "OUT", filepath.Join(dir, fmt.Sprint(len(file), "-", args[0])), 1)
					if !yield(strings.Replace(a, "FILE", file, 1)) {
						return
					}
				}
			})
		}
		exec(t, "", of(honest)...) // what is made once is made now
		testenv.BoundMemory(t, len(data), 48<<20, 100, func() { printed = exec(t, "", of(lying)...) })
		text := printed.stdout + printed.stderr
		if page := of(lying)[len(args)-1]; args[0] == "html" {
			b, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		// convert computes the columns anew. A sample of the rows finds a damaged one before its number is read.
		named := strings.Contains(text, "has 16000000 token events, but") || strings.Contains(text, "lacks them, or has damaged ones")
		if named != (args[0] != "convert") {
			t.Errorf("%s: exit %d, %.1000s\n%.1000s", name, printed.code, printed.stderr, printed.stdout)
		}
		if args[0] == "validate" != (printed.code == 1) || printed.code > 1 {
			t.Errorf("%s: exit %d: %s", name, printed.code, printed.stderr)
		}
	}
}
