package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Tensors go through shared memory, over every protocol: the server computes with its content, and
// the export has inputs and outputs as usual. After a run that ends, fails or is stopped, nothing
// is left over on the server or in the system.
func TestSharedMemory(t *testing.T) {
	row := func(first int) string {
		a, b := make([]int, 16), make([]int, 16)
		for i := range a {
			a[i], b[i] = i, 100
		}
		a[0] = first
		js := func(v []int) string { return strings.ReplaceAll(fmt.Sprint(v), " ", ",") }
		return `{"data":[{"INPUT0":` + js(a) + `,"INPUT1":` + js(b) + `},{"INPUT0":` + js(b) + `,"INPUT1":` + js(a) + `}]}`
	}
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.json")
	for path, text := range map[string]string{good: row(3), bad: strings.ReplaceAll(row(-1), "{\"INPUT0\":[100", "{\"INPUT0\":[-1")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, protocol := range []string{"-i http", "-i grpc", "-i grpc --async --streaming"} {
		for _, tt := range []struct {
			name, args string
			code       int
			stop       bool
		}{
			{name: "ends", args: "--request-count 12 --input-data " + good},
			{name: "fails", args: "--request-count 4 --input-data " + bad, code: 1},
			{name: "is stopped", args: "--duration 1m --input-data " + good, code: 130, stop: true},
		} {
			t.Run(protocol+" "+tt.name, func(t *testing.T) {
				srv, err := sim.Start(t.Context(), sim.Config{AddSubDelay: plan.ConstantDelay(time.Millisecond)})
				if err != nil {
					t.Fatal(err)
				}
				defer srv.Close()
				url, out := srv.TritonHTTPURL(), filepath.Join(t.TempDir(), "e.json")
				if strings.Contains(protocol, "grpc") {
					url = srv.TritonGRPCAddr()
				}
				args := strings.Fields("pa-record -m add_sub --shared-memory system --output-shared-memory-size 64 --concurrency-range 3 --quiet -u " + url + " --profile-export-file " + out + " " + protocol + " " + tt.args)
				signals := make(chan os.Signal, 1)
				if tt.stop {
					go func() { // ends when requests were answered, or after a minute
						eventually(func() bool { return len(srv.Ledger()) >= 10 })
						signals <- os.Interrupt
					}()
				}
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), args, newEnvironment(noEnv, signals), strings.NewReader(""), &stdout, &stderr)
				if code != tt.code || strings.Contains(stderr.String(), "keeps shared memory") {
					t.Fatalf("exit code %d, want %d:\n%s", code, tt.code, &stderr)
				}
				if now, ever := srv.SharedRegions(); len(now) > 0 || ever < 4 {
					t.Errorf("the server has the regions %v, and had %d; want none, and one for inputs and for each slot", now, ever)
				}
				if left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/pa-record-%d-*", os.Getpid())); len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
				_, requests := exporttest.Read(t, out)
				if len(requests) < 4 {
					t.Fatalf("%d requests", len(requests))
				}
				for _, r := range requests {
					if r.Excluded() != export.NotExcluded {
						continue
					}
					tensor := func(name string, all export.Fields) (v []int) {
						value, _ := all.Get(name)
						js := value.Data
						if err := json.Unmarshal(js, &v); err != nil || len(v) != 16 {
							t.Fatalf("%s: %s", name, js)
						}
						return v
					}
					in, answer := r.Inputs, r.Responses[0].Outputs
					a, b := tensor("INPUT0", in), tensor("INPUT1", in)
					sum, difference := tensor("OUTPUT0", answer), tensor("OUTPUT1", answer)
					for i := range a {
						if sum[i] != a[i]+b[i] || difference[i] != a[i]-b[i] {
							t.Fatalf("request %d: %v and %v of %v and %v", r.ID, sum, difference, a, b)
						}
					}
				}
			})
		}
	}
}

// Room that is too small for an output is the server's error, and shared memory is not
// for models that answer many times.
func TestSharedMemoryRefused(t *testing.T) {
	srv, err := sim.Start(t.Context(), sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, tt := range []struct{ args, want string }{
		{"-m add_sub --output-shared-memory-size 63", "there is room for 63 in shared memory"},
		{"-m vllm --streaming", "model vllm is decoupled: its answers would overwrite each other in shared memory"},
		{"-m add_sub --output-shared-memory-size 0", "--output-shared-memory-size 0: must be at least 1"},
		{"-m add_sub --shared-memory some", "--shared-memory some: expected none or system"},
	} {
		args := append([]string{"--shared-memory", "system", "-i", "grpc", "-u", srv.TritonGRPCAddr(), "--request-count", "3", "--profile-export-file", filepath.Join(t.TempDir(), "e.json")}, strings.Fields(tt.args)...)
		if code, _, stderr := inProcess(t.Context(), t, args...); code == 0 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
		if now, _ := srv.SharedRegions(); len(now) > 0 {
			t.Errorf("%s: regions %v", tt.args, now)
		}
	}
}

// Shared memory that is too small ends the run before a request, with what there is
// and what to do, instead of a SIGBUS; and a small one serves small tensors.
func TestSharedMemoryFull(t *testing.T) {
	inputs := filepath.Join(t.TempDir(), "inputs.json") // two tensors of 64 bytes a row: more than a page
	rows := make([]string, 100)
	for i := range rows {
		row := func(first int) string { return fmt.Sprintf("[%d%s]", first, strings.Repeat(",0", 15)) }
		rows[i] = fmt.Sprintf(`{"INPUT0":%s,"INPUT1":%s}`, row(2*i), row(2*i+1))
	}
	if err := os.WriteFile(inputs, []byte(`{"data":[`+strings.Join(rows, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, bytes, args string
		code              int
		want              string
	}{
		{"small tensors", "1000000", "--output-shared-memory-size 64 --concurrency-range 2", 0, ""},
		{"outputs", "1000000", "--output-shared-memory-size 1000000 --concurrency-range 2", 1, "shared memory: /dev/shm: 2000000 more bytes are needed and "},
		{"inputs", "4096", "--output-shared-memory-size 64 --concurrency-range 1 --input-data " + inputs, 1, "shared memory for inputs: /dev/shm: 64 more bytes are needed and 0 are free: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"-m", "add_sub", "-i", "grpc", "-u", simArgument, "--shared-memory", "system", "--request-count", "4", "--quiet", "--profile-export-file", filepath.Join(t.TempDir(), "e.json")}, strings.Fields(tt.args)...)
			r := runChild(t, []string{sharedEnv + "=" + tt.bytes}, syscall.CLONE_NEWNS, args...)
			if r.code != tt.code || !strings.Contains(r.stderr, tt.want) {
				t.Fatalf("exit code %d, want %d and %q:\n%s", r.code, tt.code, tt.want, r.stderr)
			}
			if tt.want != "" && (!strings.Contains(r.stderr, "no space left on device; enlarge it (docker run --shm-size") || strings.Contains(r.stderr, "SIGBUS")) {
				t.Errorf("it does not say what to do: %s", r.stderr)
			}
		})
	}
}
