package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/recordlog"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// Recovering a million requests takes less than 200 MB of memory, and what does not count among
// them takes no more.
func TestRecoverMemory(t *testing.T) {
	testenv.Long(t)
	const requests, most = 1_000_000, 200 << 10 // kB
	path := filepath.Join(t.TempDir(), "run"+journal.Suffix)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := recordlog.NewWriter(recordlog.To(f), &export.Run{Meta: &export.RunMeta{Schema: export.Schema, Tool: "t"}})
	err = errors.Join(err, w.BeginExperiment(export.ModeConcurrency, "512"))
	r := export.Request{HasMeta: true, Status: export.StatusOK, Inputs: export.Fields{{Name: "payload", Value: export.Text(`{"prompt":"x"}`)}}}
	for range 5 {
		r.Responses = append(r.Responses, export.Response{Source: export.SourceKernel, Outputs: export.Fields{{Name: "response", Value: export.Text(`data: {"choices":[{"index":0,"delta":{"content":"x"}}]}` + "\n\n")}}})
	}
	for i := range uint64(requests) {
		r.ID, r.StartNS, r.Phase = i+1, 1.7e18+i*1e6, export.PhaseMeasured
		if i%10 == 0 {
			r.Phase = export.PhaseCooldown
		}
		for k := range r.Responses {
			r.Responses[k].RecvNS, r.Responses[k].Read = r.StartNS+1e7*uint64(k+1), uint32(k)
		}
		if err == nil {
			err = w.WriteRequest(&r)
		}
	}
	if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{os.DevNull, "run.parquet"} {
		if to != os.DevNull {
			to = filepath.Join(t.TempDir(), to)
		}
		kept := filepath.Join(t.TempDir(), filepath.Base(path))
		if err := os.Link(path, kept); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "recover", "--profile-export-file", to, kept)
		cmd.Env = append(os.Environ(), childEnv+"=1")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		peak := peakMemory(cmd.Process.Pid)
		if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), "requests recovered: 1000000 (the run was killed)") {
			t.Fatalf("%v: %s", err, &out)
		}
		kB := <-peak
		t.Logf("recover to %s: at most %d MiB of memory, %v of CPU", filepath.Base(to), kB>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if kB == 0 || kB > most {
			t.Errorf("recover to %s takes %d kB, want at most %d", filepath.Base(to), kB, most)
		}
	}
}

// peakMemory sends the largest resident memory of a process when the process has ended, in kB. Its
// resource usage would count the memory of this process, from which it was forked.
func peakMemory(pid int) <-chan int {
	peak := make(chan int, 1)
	go func() { // ends with the process
		most := 0
		for range time.Tick(10 * time.Millisecond) {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			_, line, ok := strings.Cut(string(status), "VmHWM:")
			if !ok { // the process has ended
				break
			}
			var kB int
			if _, err := fmt.Sscan(line, &kB); err == nil {
				most = max(most, kB)
			}
		}
		peak <- most
	}()
	return peak
}
