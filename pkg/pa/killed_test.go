package pa_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/report"
	"github.com/pa-tools/pa/pkg/pa"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// A process that called Record was killed. Another one writes the file from its journal, and reports it.
func ExampleRecord_killed() {
	if err := recovered(context.Background(), "run.json", os.Stdout); err != nil {
		fmt.Println(err)
	}
}

// recovered writes the file of a killed recording, and a report of it to w.
func recovered(ctx context.Context, path string, w io.Writer) error {
	file, err := journal.NewExport(path, false)
	if err != nil {
		return err
	}
	if _, err := journal.Recover(ctx, journal.PathFor(path), []*journal.Export{file}); err != nil {
		return err
	}
	rep, err := pa.Analyze(ctx, path)
	if err != nil {
		return err
	}
	return report.Table([]report.Input{{Name: path, Report: rep.Full}}, report.Options{})(w)
}

// killedURL is the environment variable with the server to which [TestMain] sends load until the process is killed.
const killedURL = "RECORD_FROM"

// A recording is killed once its journal has requests; the report has them.
func TestKilled(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(5 * time.Millisecond)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.Repeat("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n", 3)+"data: [DONE]\n\n")
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "run.json")
	recording := exec.Command(os.Args[0], path)
	recording.Env = append(os.Environ(), killedURL+"="+srv.URL)
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
	var out bytes.Buffer
	if err := recovered(t.Context(), path, &out); err != nil || !strings.Contains(out.String(), "concurrency 4: ") || !strings.Contains(out.String(), "TTFT") {
		t.Errorf("report: %v\n%s", err, &out)
	}
}
