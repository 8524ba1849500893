package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
)

// BenchmarkTimestamps records streams of 50 tokens/s from a simulated server in
// another process, and reports how far the recorded times lie from the server's:
// over gRPC, from when its kernel let each message go; over HTTP, from when it
// handed each event over, so that how long it was kept from running after it had
// read its clock is in the figure.
func BenchmarkTimestamps(b *testing.B) {
	for _, service := range []string{"openai", "triton-grpc"} {
		for _, streams := range []int{16, 64, 256} {
			b.Run(fmt.Sprintf("service=%s/streams=%d", service, streams), func(b *testing.B) {
				srv := startSim(b, "--ttft", "20ms", "--itl", "20ms", "--output-tokens", "100")
				dir := b.TempDir()
				file := filepath.Join(dir, "e.json")
				args := []string{
					"--concurrency-range", strconv.Itoa(streams), "--request-count", strconv.Itoa(2 * streams),
					"--profile-export-file", file, "--overwrite", "--quiet", "--streaming",
				}
				id := func(r *export.Request) string { return strconv.FormatUint(r.ID, 10) }
				if service == "openai" {
					args = append(args, "--service-kind", "openai", "-u", srv.openAI, "--extra-body", `{"max_tokens":100}`)
					id = answerIDOf
				} else {
					prompts := filepath.Join(dir, "prompts.json")
					if err := os.WriteFile(prompts, []byte(`{"data":[{"text_input":["x"],"stream":[true],"sampling_parameters":["{\"max_tokens\":100}"]}]}`), 0o600); err != nil {
						b.Fatal(err)
					}
					args = append(args, "-m", "vllm", "-i", "grpc", "-u", srv.grpc, "--input-data", prompts)
				}
				var errorsNS []float64
				for b.Loop() {
					before := len(srv.ledger(b))
					if code, _, stderr := inProcess(context.Background(), b, args...); code != 0 {
						b.Fatalf("exit code %d: %s", code, stderr)
					}
					errorsNS = append(errorsNS, clockErrors(b, srv.ledger(b)[before:], file, id)...)
				}
				slices.Sort(errorsNS)
				at := func(p float64) float64 { return errorsNS[int(p*float64(len(errorsNS)-1))] / 1e3 }
				b.ReportMetric(at(0.5), "p50-µs")
				b.ReportMetric(at(0.99), "p99-µs")
				b.ReportMetric(at(1), "max-µs")
				b.ReportMetric(float64(len(errorsNS)), "events")
			})
		}
	}
}

// clockErrors returns |recorded − sent| of every event of a run, in ns. id is
// the name of a request's ledger entry.
func clockErrors(b *testing.B, ledger []sim.Entry, file string, id func(*export.Request) string) []float64 {
	b.Helper()
	entries := map[string]sim.Entry{}
	for _, e := range ledger {
		entries[e.ID] = e
	}
	var all []float64
	_, requests := readExport(b, file)
	for i := range requests {
		r := &requests[i]
		e, ok := entries[id(r)]
		sent := e.EventTimesNS()
		if !ok || len(sent) != len(r.Responses) {
			b.Fatalf("request %d: %d responses recorded, %d events of %q in the ledger", r.ID, len(r.Responses), len(sent), id(r))
		}
		if kernel := kernelTimes(&e); kernel != nil {
			sent = kernel
		}
		for j, ns := range sent {
			if ns != 0 {
				all = append(all, math.Abs(float64(int64(r.Responses[j].RecvNS-ns))))
			}
		}
	}
	return all
}

// kernelTimes returns when the kernel let each event go, 0 where that is not
// known; nil when it is known of none.
func kernelTimes(e *sim.Entry) []uint64 {
	var all []uint64
	known := false
	for _, w := range e.Writes {
		known = known || w.KernelNS != 0
		for range w.Events {
			all = append(all, w.KernelNS)
		}
	}
	if !known {
		return nil
	}
	return all
}

// answerIDOf returns the id that an OpenAI answer bears, "" if none.
func answerIDOf(r *export.Request) string {
	if m := answerID.FindStringSubmatch(joined(r, "response")); m != nil {
		return m[1]
	}
	return ""
}
