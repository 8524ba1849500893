package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/sim"
)

// A simProcess is "pa-record sim" in a process of its own.
type simProcess struct{ openAI, grpc, http string }

// startSim starts one on free ports; it ends with the test.
func startSim(t testing.TB, flags ...string) simProcess {
	t.Helper()
	args := append([]string{"sim", "--openai-addr", "127.0.0.1:0", "--triton-grpc-addr", "127.0.0.1:0", "--triton-http-addr", "127.0.0.1:0"}, flags...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the simulated server: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulated server ended with %v", err)
		}
	})
	var p simProcess
	sc := bufio.NewScanner(out)
	for p.openAI == "" || p.grpc == "" || p.http == "" {
		if !sc.Scan() {
			t.Fatal("the simulated server did not say where it listens")
		}
		what, addr, _ := strings.Cut(sc.Text(), ": ")
		switch what {
		case "OpenAI":
			p.openAI = addr
		case "Triton gRPC":
			p.grpc = addr
		case "Triton HTTP":
			p.http = addr
		}
	}
	return p
}

// ledger asks the server what it sent, once nothing is in flight.
func (p simProcess) ledger(t testing.TB) []sim.Entry {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(p.openAI + "/ledger?wait=true")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []sim.Entry
	dec := json.NewDecoder(resp.Body)
	for {
		var e sim.Entry
		if err := dec.Decode(&e); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// readExport returns clones of all requests of an export.
func readExport(t testing.TB, path string) (*export.Run, []export.Request) {
	t.Helper()
	o := export.Opener{Formats: []export.Format{profilejson.Format{}}}
	r, err := o.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []export.Request
	for r.Next() {
		all = append(all, cloneRequest(r.Request()))
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if w := r.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %v", w)
	}
	return r.Run(), all
}

func cloneRequest(r *export.Request) export.Request {
	c := *r
	c.Inputs = cloneFields(r.Inputs)
	c.Responses = slices.Clone(r.Responses)
	for i := range c.Responses {
		c.Responses[i].Outputs = cloneFields(c.Responses[i].Outputs)
	}
	return c
}

func cloneFields(f export.Fields) export.Fields {
	c := slices.Clone(f)
	for i := range c {
		c[i].Value.Data = bytes.Clone(c[i].Value.Data)
	}
	return c
}

var answerID = regexp.MustCompile(`"id": ?"([^"]+)"`)

// outputs joins the named output of all responses.
func joined(r *export.Request, name string) string {
	var b strings.Builder
	for _, p := range r.Responses {
		v, _ := p.Outputs.Get(name)
		b.Write(v.Data)
	}
	return b.String()
}

// What is recorded is what the server in another process says it sent: the
// same requests, the same responses, the same bytes.
func TestLedgerOpenAI(t *testing.T) {
	srv := startSim(t, "--ttft", "normal:5ms,2ms", "--itl", "lognormal:2ms,1ms", "--output-tokens", "normal:12,4", "--vocabulary", "tricky", "--seed", "7")
	for _, tt := range []struct{ name, flags string }{
		{"chat, streamed", "--streaming"},
		{"completions, streamed", "--endpoint v1/completions --streaming"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(srv.ledger(t))
			file := filepath.Join(t.TempDir(), "e.json")
			args := append([]string{"--service-kind", "openai", "-u", srv.openAI, "--concurrency-range", "4", "--request-count", "40", "--profile-export-file", file, "--quiet"}, strings.Fields(tt.flags)...)
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			entries := map[string]sim.Entry{}
			for _, e := range srv.ledger(t)[before:] {
				entries[e.ID] = e
			}
			_, requests := readExport(t, file)
			if len(requests) != 40 || len(entries) != 40 {
				t.Fatalf("%d requests recorded, %d in the ledger; want 40", len(requests), len(entries))
			}
			for i := range requests {
				r := &requests[i]
				m := answerID.FindStringSubmatch(joined(r, "response"))
				if m == nil {
					t.Fatalf("request %d: no id in the answer", r.ID)
				}
				e, ok := entries[m[1]]
				if !ok {
					t.Fatalf("request %d: answer %s is not in the ledger", r.ID, m[1])
				}
				delete(entries, m[1])
				if got := joined(r, "response"); got != string(e.Sent()) {
					t.Errorf("request %d: recorded %q, sent %q", r.ID, got, e.Sent())
				}
				checkTimes(t, r, &e)
			}
		})
	}
}

func TestLedgerTriton(t *testing.T) {
	srv := startSim(t, "--ttft", "5ms", "--itl", "lognormal:2ms,1ms", "--vocabulary", "tricky")
	dir := t.TempDir()
	prompts := filepath.Join(dir, "prompts.json")
	if err := os.WriteFile(prompts, []byte(`{"data":[{"text_input":["one two three"],"stream":[true],"sampling_parameters":["{\"max_tokens\":9}"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "e.json")
	code, _, stderr := inProcess(t.Context(), t, "-m", "vllm", "-i", "grpc", "--async", "--streaming", "-u", srv.grpc, "--input-data", prompts,
		"--concurrency-range", "4", "--request-count", "40", "--profile-export-file", file, "--quiet")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	entries := map[string]sim.Entry{}
	for _, e := range srv.ledger(t) {
		entries[e.ID] = e
	}
	_, requests := readExport(t, file)
	if len(requests) != 40 || len(entries) != 40 {
		t.Fatalf("%d requests recorded, %d in the ledger; want 40", len(requests), len(entries))
	}
	for i := range requests {
		r := &requests[i]
		e, ok := entries[strconv.FormatUint(r.ID, 10)]
		if !ok {
			t.Fatalf("request %d is not in the ledger", r.ID)
		}
		// The export holds the text of each message, the ledger the message.
		if len(r.Responses) != len(e.Writes) {
			t.Fatalf("request %d: %d responses, %d messages sent", r.ID, len(r.Responses), len(e.Writes))
		}
		for j, p := range r.Responses {
			v, _ := p.Outputs.Get("text_output")
			if !bytes.Contains(e.Writes[j].Data, v.Data) || e.Writes[j].Tokens > 0 && len(v.Data) == 0 && bytes.Contains(e.Writes[j].Data, []byte("raw")) {
				t.Errorf("request %d, response %d: recorded %q, message %q", r.ID, j, v.Data, e.Writes[j].Data)
			}
		}
		checkTimes(t, r, &e)
	}
}

// checkTimes checks what must hold on any machine, however slow: one stamp per
// event, in order, none before the server handed the event over.
func checkTimes(t *testing.T, r *export.Request, e *sim.Entry) {
	t.Helper()
	sent := e.EventTimesNS()
	if len(sent) != len(r.Responses) {
		t.Errorf("request %d: %d responses recorded, %d events sent", r.ID, len(r.Responses), len(sent))
		return
	}
	last := r.StartNS
	for i, p := range r.Responses {
		if p.RecvNS < last {
			t.Errorf("request %d, response %d: received %v before the one before", r.ID, i, time.Duration(last-p.RecvNS))
		}
		last = p.RecvNS
		// Two clock readings of two processes, of which ours drifts from the
		// wall clock by what NTP slews in a second.
		if slack := uint64(time.Millisecond); p.RecvNS+slack < sent[i] {
			t.Errorf("request %d, response %d: received %v before it was sent", r.ID, i, time.Duration(sent[i]-p.RecvNS))
		}
	}
	if r.StartNS > e.ReceivedNS+uint64(time.Millisecond) {
		t.Errorf("request %d: started %v after the server had it", r.ID, time.Duration(r.StartNS-e.ReceivedNS))
	}
}

// BenchmarkTimestamps records 16 streams of 50 tokens/s from a simulated server
// in another process, and reports how far the recorded times lie from the
// server's own.
func BenchmarkTimestamps(b *testing.B) {
	for _, streams := range []int{16, 64} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			srv := startSim(b, "--ttft", "20ms", "--itl", "20ms", "--output-tokens", "100")
			file := filepath.Join(b.TempDir(), "e.json")
			var errorsNS []float64
			for b.Loop() {
				before := len(srv.ledger(b))
				code, _, stderr := inProcess(context.Background(), b, "--service-kind", "openai", "-u", srv.openAI, "--streaming", "--extra-body", `{"max_tokens":100}`,
					"--concurrency-range", strconv.Itoa(streams), "--request-count", strconv.Itoa(2*streams), "--profile-export-file", file, "--overwrite", "--quiet")
				if code != 0 {
					b.Fatalf("exit code %d: %s", code, stderr)
				}
				entries := map[string]sim.Entry{}
				for _, e := range srv.ledger(b)[before:] {
					entries[e.ID] = e
				}
				_, requests := readExport(b, file)
				for i := range requests {
					r := &requests[i]
					e := entries[answerID.FindStringSubmatch(joined(r, "response"))[1]]
					for j, ns := range e.EventTimesNS() {
						errorsNS = append(errorsNS, float64(int64(r.Responses[j].RecvNS-ns)))
					}
				}
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
