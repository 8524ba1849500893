//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// A hangingServer answers the first good requests and then no more, or with the
// head and one event of an answer; hanging gets a value for each answer that stops.
type hangingServer struct {
	url     string
	hanging chan struct{}
}

func startHanging(t *testing.T, good int64, head bool) hangingServer {
	t.Helper()
	s := hangingServer{hanging: make(chan struct{}, 100)}
	var posts atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		last := posts.Add(1) > good
		if !last || head {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, oneEvent)
			_ = http.NewResponseController(w).Flush()
		}
		if !last {
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
			return
		}
		s.hanging <- struct{}{}
		<-r.Context().Done() // until the client gives it up
	}))
	t.Cleanup(srv.Close)
	s.url = srv.URL
	return s
}

// exportPaths returns one path for each format.
func exportPaths(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	return []string{filepath.Join(dir, "x.json"), filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow")}
}

func recordArgs(srv hangingServer, paths []string, args ...string) []string {
	args = append(args, "--service-kind", "openai", "-u", srv.url, "--streaming", "-m", "m")
	for _, p := range paths {
		args = append(args, "--profile-export-file", p)
	}
	return args
}

// checkHung checks that the exports hold the good requests and the requests that hung,
// with this status and at most the event they had.
func checkHung(t *testing.T, paths []string, good, hung int, status export.Status, head bool, interrupted string) {
	t.Helper()
	for _, p := range paths {
		run, requests := exporttest.Read(t, p)
		ok, other := 0, 0
		for i := range requests {
			q := &requests[i]
			switch {
			case q.Status == export.StatusOK:
				ok++
			case q.Status == status && q.FailedNS > q.IssuedNS && len(q.Responses) <= btoi(head):
				other++ // one that is given up at once may not have got its event yet
			default:
				t.Errorf("%s: request %d: %v %q with %d responses", filepath.Base(p), q.ID, q.Status, q.Message, len(q.Responses))
			}
		}
		if ok != good || other != hung || run.Meta.Interrupted != interrupted || run.Meta.EndNS == 0 {
			t.Errorf("%s: %d good and %d %v, interrupted %q; want %d, %d, %q", filepath.Base(p), ok, other, status, run.Meta.Interrupted, good, hung, interrupted)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(paths[0]), "*")); len(left) != len(paths) {
		t.Errorf("files %q, want the exports alone", left)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A server that accepts and says nothing is waited for, as is one that is not
// there yet when that was asked for, but not in silence.
func TestWaiting(t *testing.T) {
	t.Parallel()
	mute := nettest.StartServer(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) }) // accepts, and says nothing
	for name, tt := range map[string]struct{ args, waiting, end string }{
		"OpenAI": {"--service-kind openai -u " + mute, "waiting for " + mute + " to say whether it is ready", "http://" + mute + "/v1/models: no answer in time; is -u the server's HTTP port?"},
		"gRPC":   {"-m x -i grpc -u " + mute, "waiting for " + mute + " to say whether it is ready", mute + ": "},
		"HTTP":   {"-m x -u " + mute, "waiting for " + mute + " to say whether it is ready", mute + ": "},
		"nobody": {"-m x -u 127.0.0.1:1 --wait-ready 2400ms", "waiting up to 2.4s for the server: 127.0.0.1:1: connection refused; is the server running", "127.0.0.1:1: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.json")
			code, _, stderr := inProcess(t.Context(), t, append(strings.Fields(tt.args), "--request-timeout", "2400ms", "--profile-export-file", path)...)
			waiting, end := strings.Index(stderr, "pa-record: "+tt.waiting), strings.LastIndex(stderr, "pa-record: "+tt.end)
			if code != 1 || waiting < 0 || end <= waiting {
				t.Errorf("exit code %d: %s\nwant %q and then %q", code, stderr, tt.waiting, tt.end)
			}
		})
	}
}

// A server that accepts and then hangs, before its answer or in the middle of it,
// costs --request-timeout for each request, and no more.
func TestHangTimeout(t *testing.T) {
	t.Parallel()
	for _, head := range []bool{false, true} {
		t.Run(map[bool]string{false: "no answer", true: "half an answer"}[head], func(t *testing.T) {
			t.Parallel()
			srv := startHanging(t, 3, head)
			paths := exportPaths(t)
			code, _, stderr := inProcess(t.Context(), t, recordArgs(srv, paths, "--request-count", "6", "--concurrency-range", "3", "--request-timeout", "1s")...)
			if code != 0 || !strings.Contains(stderr, "3 of 6 requests failed") {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			checkHung(t, paths, 3, 3, export.StatusTimeout, head, "")
		})
	}
}

// Such a server does not keep a run that is interrupted for longer than
// --grace-period, nor at all after a second signal.
func TestHangInterrupt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, grace string
		head        bool
		twice       bool
	}{
		{"grace runs out", "200ms", false, false},
		{"grace runs out in an answer", "200ms", true, false},
		{"no grace", "0s", true, false},
		{"a second signal", "1h", false, true},
		{"a second signal in an answer", "1h", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const good, slots = 8, 4
			srv := startHanging(t, good, tt.head)
			paths := exportPaths(t)
			cmd := exec.Command(os.Args[0], recordArgs(srv, paths, "--concurrency-range", "4", "--duration", "1h", "--grace-period", tt.grace)...)
			cmd.Env = append(os.Environ(), childEnv+"=1")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
			for range slots {
				<-srv.hanging
			}
			signal := func() {
				if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Error(err)
				}
			}
			signal()
			var said []string
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				said = append(said, lines.Text())
				if tt.twice && strings.Contains(lines.Text(), "again to stop at once") {
					signal()
				}
			}
			_ = cmd.Wait() // its error is the exit code
			if !timer.Stop() {
				t.Fatalf("pa-record hangs: %q", said)
			}
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Fatalf("exit code %d, want 130: %q", code, said)
			}
			if tt.twice {
				recoverKept(t, paths)
			}
			checkHung(t, paths, good, slots, export.StatusCancelled, tt.head, "SIGINT")
		})
	}
}

// recoverKept writes the exports of a run for which the second signal left no time, on a busy
// machine: its journal is there.
func recoverKept(t *testing.T, paths []string) {
	t.Helper()
	place := exportStem(paths[0]) + journal.Suffix
	if _, err := os.Stat(place); err != nil {
		return
	}
	args := []string{"recover", "--overwrite", place}
	for _, p := range paths {
		args = append(args, "--profile-export-file", p)
	}
	if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
		t.Fatalf("recover: exit code %d: %s", code, stderr)
	}
}

// A server that accepts no more (its queue is full) is a timeout too.
func TestHangBeforeAccept(t *testing.T) {
	l := nettest.Listen(t)
	defer l.Close()
	code, _, stderr := inProcess(t.Context(), t, recordArgs(hangingServer{url: "http://" + l.Addr().String()}, exportPaths(t), "--request-count", "1", "--request-timeout", "200ms")...)
	if code != 1 || !strings.Contains(stderr, "no answer in time") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
