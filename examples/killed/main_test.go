package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// TestMain runs the example where the test starts this program again.
func TestMain(m *testing.M) {
	if os.Getenv("RUN_EXAMPLE") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func example(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "RUN_EXAMPLE=1")
	return cmd
}

// A recording is killed once its journal has requests; the report has them.
func TestKilled(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(5 * time.Millisecond)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Repeat("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n", 3)+"data: [DONE]\n\n")
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "run.json")
	recording := example("record", path, srv.URL)
	var said bytes.Buffer
	recording.Stdout, recording.Stderr = &said, &said
	if err := recording.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if info, err := os.Stat(journal.PathFor(path)); err == nil && info.Size() > 20_000 {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("no journal of 20 kB within a minute: %s", &said)
			break
		}
	}
	_ = recording.Process.Kill()
	_ = recording.Wait() // reports the kill
	out, err := example("report", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "concurrency 4: ") || !strings.Contains(string(out), "TTFT") {
		t.Errorf("report: %v\n%s", err, out)
	}
}
