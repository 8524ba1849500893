package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
)

// A simProcess is "pa-record sim" in a process of its own.
type simProcess struct{ openAI, grpc, http string }

// startSim starts one on free ports; it ends with the test.
func startSim(t testing.TB, flags ...string) simProcess {
	t.Helper()
	p, cmd := launchSim(t, flags...)
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the simulated server: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulated server ended with %v", err)
		}
	})
	return p
}

// startMortalSim starts one that may be killed before it ends with the test.
func startMortalSim(t testing.TB, flags ...string) (simProcess, *os.Process) {
	t.Helper()
	p, cmd := launchSim(t, flags...)
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // says that it was killed
	})
	return p, cmd.Process
}

// launchSim starts one and returns when it listens.
func launchSim(t testing.TB, flags ...string) (simProcess, *exec.Cmd) {
	t.Helper()
	args := []string{"sim"}
	for _, a := range simserver.APIs {
		args = append(args, "--"+a.Flag, "127.0.0.1:0")
	}
	args = append(args, flags...)
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
	return p, cmd
}

// ledger asks the server what it sent, once nothing is in flight.
func (p simProcess) ledger(t testing.TB) []sim.Entry { return p.askLedger(t, "?wait=true") }

// ledgerNow asks the server what it has sent so far.
func (p simProcess) ledgerNow(t testing.TB) []sim.Entry { return p.askLedger(t, "") }

func (p simProcess) askLedger(t testing.TB, query string) []sim.Entry {
	t.Helper()
	var all []sim.Entry
	dec := json.NewDecoder(bytes.NewReader(p.readLedger(t, query)))
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

// readLedger returns the lines of the server's ledger.
func (p simProcess) readLedger(t testing.TB, query string) []byte {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(p.openAI + "/ledger" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// ledgerRequests returns the number of requests of a run that is compared with a ledger.
func ledgerRequests() int { return 40 / testenv.Stride(2) }

// The export has the requests, responses and bytes that the ledger of a server in another process
// has.
func TestLedgerOpenAI(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "normal:5ms,2ms", "--itl", "lognormal:2ms,1ms", "--output-tokens", "normal:12,4", "--vocabulary", "tricky", "--seed", "7")
	for _, tt := range []struct{ name, flags string }{
		{"chat, streamed", "--streaming"},
		{"completions, streamed", "--endpoint v1/completions --streaming"},
		{"chat, whole", ""},
		{"chat, streamed over HTTP/2", "--streaming --http2"},
		{"chat, whole over HTTP/2", "--http2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, n := len(srv.ledger(t)), ledgerRequests()
			file := filepath.Join(t.TempDir(), "e.json")
			args := append([]string{"--service-kind", "openai", "-u", srv.openAI, "--concurrency-range", "4", "--request-count", strconv.Itoa(n), "--profile-export-file", file, "--quiet"}, strings.Fields(tt.flags)...)
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			entries := map[string]sim.Entry{}
			for _, e := range srv.ledger(t)[before:] {
				entries[e.ID] = e
			}
			run, requests := exporttest.Read(t, file)
			checkStamps(t, run)
			if len(requests) != n || len(entries) != n {
				t.Fatalf("%d requests recorded, %d in the ledger; want %d", len(requests), len(entries), n)
			}
			for i := range requests {
				r := &requests[i]
				id, ok := exporttest.AnswerID(r)
				if !ok {
					t.Fatalf("request %d: no id in the answer", r.ID)
				}
				e, ok := entries[id]
				if !ok {
					t.Fatalf("request %d: answer %s is not in the ledger", r.ID, id)
				}
				delete(entries, id)
				if got := exporttest.Joined(r, "response"); got != string(e.Sent()) {
					t.Errorf("request %d: recorded %q, sent %q", r.ID, got, e.Sent())
				}
				checkTimes(t, r, &e)
			}
		})
	}
}

// recordTriton records requests to a model of the simulated server and returns
// them with the server's entries, each with its own.
func recordTriton(t *testing.T, srv simProcess, input string, args ...string) (requests []export.Request, entries []sim.Entry) {
	t.Helper()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data.json"), filepath.Join(dir, "e.json")
	if err := os.WriteFile(data, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	before, n := len(srv.ledger(t)), ledgerRequests()
	args = append(args, "--input-data", data, "--concurrency-range", "4", "--request-count", strconv.Itoa(n), "--profile-export-file", file, "--quiet")
	if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	_, requests = exporttest.Read(t, file)
	byID := map[string]sim.Entry{}
	for _, e := range srv.ledger(t)[before:] {
		byID[e.ID] = e
	}
	if len(requests) != n || len(byID) != n {
		t.Fatalf("%d requests recorded, %d in the ledger; want %d", len(requests), len(byID), n)
	}
	for i := range requests {
		e, ok := byID[strconv.FormatUint(requests[i].ID, 10)]
		if !ok {
			t.Fatalf("request %d is not in the ledger", requests[i].ID)
		}
		entries = append(entries, e)
		checkTimes(t, &requests[i], &e)
	}
	return requests, entries
}

// Each response is the message of the ledger, read by the generated code.
func TestLedgerTritonStream(t *testing.T) {
	t.Parallel()
	srv := startSim(t, "--ttft", "5ms", "--itl", "lognormal:2ms,1ms", "--vocabulary", "tricky")
	requests, entries := recordTriton(t, srv,
		`{"data":[{"text_input":["one two three"],"stream":[true],"sampling_parameters":["{\"max_tokens\":9}"]}]}`,
		"-m", "vllm", "-i", "grpc", "--async", "--streaming", "-u", srv.grpc)
	texts := 0
	for i := range requests {
		r, e := &requests[i], &entries[i]
		if len(r.Responses) != len(e.Writes) {
			t.Fatalf("request %d: %d responses, %d messages sent", r.ID, len(r.Responses), len(e.Writes))
		}
		for j, p := range r.Responses {
			var m pb.ModelStreamInferResponse
			if err := proto.Unmarshal(e.Writes[j].Data, &m); err != nil {
				t.Fatalf("request %d, message %d: %v", r.ID, j, err)
			}
			want := ""
			for k, o := range m.GetInferResponse().GetOutputs() {
				if o.GetName() == "text_output" {
					want = onlyString(t, m.GetInferResponse().GetRawOutputContents()[k])
				}
			}
			got, ok := p.Outputs.Get("text_output")
			if !ok || string(got.Data) != want {
				t.Errorf("request %d, response %d: recorded %q, sent %q", r.ID, j, got.Data, want)
			}
			if want != "" {
				texts++
			}
		}
	}
	// A token of the vocabulary may be part of a character, without a text.
	if want := 9 * len(requests) / 2; texts < want {
		t.Errorf("%d texts were sent; want at least %d", texts, want)
	}
}

// onlyString is the element of a BYTES tensor of one.
func onlyString(t *testing.T, raw []byte) string {
	t.Helper()
	if len(raw) < 4 || binary.LittleEndian.Uint32(raw) != uint32(len(raw)-4) {
		t.Fatalf("%q is not one element", raw)
	}
	return string(raw[4:])
}

// The outputs of whole answers equal the ledger's outputs, over both protocols.
func TestLedgerTritonWhole(t *testing.T) {
	t.Parallel()
	srv := startSim(t)
	var steps []string
	for i := range 3 {
		var a, b []string
		for j := range 16 {
			a, b = append(a, strconv.Itoa(1000*i+j)), append(b, strconv.Itoa(-7*j))
		}
		steps = append(steps, fmt.Sprintf(`{"INPUT0":[%s],"INPUT1":[%s]}`, strings.Join(a, ","), strings.Join(b, ",")))
	}
	input := `{"data":[` + strings.Join(steps, ",") + `]}`
	for _, tt := range []struct {
		protocol, url string
		outputs       func(t *testing.T, answer []byte) map[string][]int32
	}{
		{"grpc", srv.grpc, protoOutputs},
		{"http", srv.http, httpOutputs},
	} {
		t.Run(tt.protocol, func(t *testing.T) {
			requests, entries := recordTriton(t, srv, input, "-m", "add_sub", "-i", tt.protocol, "-u", tt.url)
			seen := map[string]bool{}
			for i := range requests {
				r := &requests[i]
				if len(r.Responses) != 1 {
					t.Fatalf("request %d: %d responses", r.ID, len(r.Responses))
				}
				got := map[string][]int32{}
				for _, o := range r.Responses[0].Outputs {
					var v []int32
					if err := json.Unmarshal(o.Value.Data, &v); err != nil {
						t.Fatalf("request %d: output %s: %v", r.ID, o.Name, err)
					}
					got[o.Name] = v
				}
				want := tt.outputs(t, entries[i].Sent())
				if len(want) != 2 || len(want["OUTPUT0"]) != 16 {
					t.Fatalf("request %d: the ledger's answer holds %v", r.ID, want)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("request %d (-sent +recorded):\n%s", r.ID, diff)
				}
				seen[fmt.Sprint(got)] = true
			}
			if len(seen) != len(steps) {
				t.Errorf("%d different answers, want %d", len(seen), len(steps))
			}
		})
	}
}

// protoOutputs reads a ModelInferResponse with the generated code.
func protoOutputs(t *testing.T, answer []byte) map[string][]int32 {
	t.Helper()
	var m pb.ModelInferResponse
	if err := proto.Unmarshal(answer, &m); err != nil {
		t.Fatal(err)
	}
	out := map[string][]int32{}
	for i, o := range m.GetOutputs() {
		out[o.GetName()] = int32s(m.GetRawOutputContents()[i])
	}
	return out
}

// httpOutputs reads JSON and the binary tensors behind it.
func httpOutputs(t *testing.T, answer []byte) map[string][]int32 {
	t.Helper()
	var m struct {
		Outputs []struct {
			Name       string
			Parameters struct {
				Size int `json:"binary_data_size"`
			}
		}
	}
	dec := json.NewDecoder(bytes.NewReader(answer))
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	rest := answer[dec.InputOffset():]
	out := map[string][]int32{}
	for _, o := range m.Outputs {
		if o.Parameters.Size > len(rest) {
			t.Fatalf("output %s: %d bytes announced, %d left", o.Name, o.Parameters.Size, len(rest))
		}
		out[o.Name] = int32s(rest[:o.Parameters.Size])
		rest = rest[o.Parameters.Size:]
	}
	return out
}

func int32s(raw []byte) []int32 {
	var v []int32
	for ; len(raw) >= 4; raw = raw[4:] {
		v = append(v, int32(binary.LittleEndian.Uint32(raw)))
	}
	return v
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
			t.Errorf("request %d, response %d: received %v before the previous response", r.ID, i, time.Duration(last-p.RecvNS))
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
