package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/calibrate"
	"github.com/pa-tools/pa/pkg/sim"
)

// A calibration compares every token and request. On Linux the recorded and the true
// times are the kernel's; the user-space recording has no time of the kernel.
func TestCalibrate(t *testing.T) {
	const streams, perStream = 4, 20 // tokens of a stream with each kind of times
	code, stdout, stderr := inProcess(t.Context(), t, "calibrate", "--streams", "4", "--rate", "500", "--events", "20", "--service", "both", "--format", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var got export.Calibration
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.StartNS == 0 || got.EndNS <= got.StartNS || got.Host == nil || got.Host.CPUs == 0 || len(got.Services) != 2 {
		t.Fatalf("%+v", got)
	}
	if d := cmp.Diff(calibrate.Limits(), got.Limits); d != "" {
		t.Errorf("limits (-want +got):\n%s", d)
	}
	kernel := runtime.GOOS == "linux"
	for i, name := range []string{calibrate.OpenAI, calibrate.TritonGRPC} {
		s := got.Services[i]
		if s.Service != name || s.Streams != streams || s.TokensPerSecond != 500 || s.TokensPerRequest != 10 || s.Rounds != 2 || len(s.Recordings) != 2 {
			t.Errorf("service %+v", s)
			continue
		}
		for j, stamps := range []string{"kernel", "user"} {
			r := s.Recordings[j]
			if r.Stamps != stamps || r.Requests != 2*streams || r.Skipped != 0 || r.Receive == nil || r.Receive.N != streams*perStream {
				t.Errorf("%s: recording %+v", name, r)
				continue
			}
			if r.Sources.Kernel+r.Sources.User != streams*perStream || r.StartSources.Kernel+r.StartSources.User != 2*streams ||
				stamps == "user" && r.Sources.Kernel+r.StartSources.Kernel > 0 {
				t.Errorf("%s, %s: sources %+v, of starts %+v", name, stamps, r.Sources, r.StartSources)
			}
			if !kernel {
				continue
			}
			if stamps == "kernel" && (r.Sources.Kernel == 0 || r.StartSources.Kernel == 0) {
				t.Errorf("%s: the kernel took %+v, of starts %+v", name, r.Sources, r.StartSources)
			}
			// Starts are held to the server's stamps of requests. The kernel begins to
			// take stamps a moment after it was asked to, later on a busy machine.
			if r.Receive.Truth.Kernel == 0 || r.Start == nil || r.Start.N == 0 || r.Start.N > 2*streams {
				t.Errorf("%s, %s: held against %+v; starts %+v", name, stamps, r.Receive.Truth, r.Start)
			}
		}
	}
}

// The result is in every form of the export, the same in each.
func TestCalibrateIsStored(t *testing.T) {
	t.Parallel() // takes four seconds
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "e.json"), filepath.Join(dir, "e.parquet"), filepath.Join(dir, "e.arrow")}
	args := []string{"-m", "add_sub", "-i", "grpc", "-u", "sim://", "--concurrency-range", "3", "--request-count", "3", "--calibrate"}
	for _, f := range files {
		args = append(args, "--profile-export-file", f)
	}
	code, _, stderr := inProcess(t.Context(), t, args...)
	if code != 0 || !strings.Contains(stderr, "calibrating triton-grpc, round 1 of 2: 3 streams") {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var first *export.Calibration
	for _, f := range files {
		run, _ := exporttest.Read(t, f)
		c := run.Meta.Calibration
		if c == nil || len(c.Services) != 1 || c.Services[0].Service != calibrate.TritonGRPC || c.Services[0].Streams != 3 || c.Host != nil || c.EndNS > run.Meta.StartNS {
			t.Fatalf("%s: %+v", f, c)
		}
		if first == nil {
			first = c
		}
		if d := cmp.Diff(first, c); d != "" {
			t.Errorf("%s (-json +this):\n%s", f, d)
		}
	}
}

// A signal ends the calibration and its server; inProcess waits for both.
func TestCalibrateInterrupted(t *testing.T) {
	for _, args := range [][]string{
		{"calibrate", "--duration", "10m", "--streams", "2"},
		{"-u", "sim://", "--request-count", "1", "--calibrate", "--profile-export-file", filepath.Join(t.TempDir(), "e.json")},
	} {
		signals := make(chan os.Signal, 1)
		stderr := &trigger{text: "round 1 of 2", do: func() { signals <- os.Interrupt }}
		env := newEnvironment(noEnv, signals)
		var stdout bytes.Buffer
		if code := run(t.Context(), append([]string{"pa-record"}, args...), env, strings.NewReader(""), &stdout, stderr); code != 130 {
			t.Errorf("%v: exit code %d, want 130: %s", args, code, stderr.buf.String())
		}
		if stdout.Len() > 0 {
			t.Errorf("%v: %s", args, stdout.String())
		}
	}
}

// A trigger does something when a text was written, once.
type trigger struct {
	text string
	do   func()

	mu  sync.Mutex // several goroutines write to standard error
	buf bytes.Buffer
}

func (w *trigger) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.buf.Write(p)
	if w.do != nil && strings.Contains(w.buf.String(), w.text) {
		w.do()
		w.do = nil
	}
	return n, err
}

func TestTruthOf(t *testing.T) {
	got := truthOf(&sim.Entry{ReceivedKernelNS: 5, Writes: []sim.Write{
		{SentNS: 10, KernelNS: 11, Events: 1, Tokens: 2},
		{SentNS: 20, Events: 0}, // half an event
		{SentNS: 30, KernelNS: 31, Events: 1},
	}})
	want := &calibrate.Truth{ReceivedNS: 5, Events: []calibrate.Event{{KernelNS: 11, UserNS: 10, Tokens: 2}, {KernelNS: 31, UserNS: 30}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
