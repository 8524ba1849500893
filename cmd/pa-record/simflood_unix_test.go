//go:build unix

package main

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// Connections that say nothing do not use up the files of a simulated server, which says at
// its end how many it has closed.
func TestSimAmongSilentConnections(t *testing.T) {
	t.Parallel()
	args := append([]string{"-c", `ulimit -n 128 && exec "$0" "$@"`, os.Args[0], "sim", "--stop-at-eof"}, simserver.Addresses("openai-addr")...)
	cmd := exec.Command("sh", args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, out := testenv.Start(t, cmd)
	line, err := bufio.NewReader(out).ReadString('\n')
	url := strings.TrimPrefix(strings.TrimSpace(line), "OpenAI: ")
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		nc, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	client := http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	resp, err := client.Get(url + "/v1/models")
	if err != nil {
		t.Error(err)
	} else {
		_ = resp.Body.Close()
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	const note = " connections that sent no request, because newer ones came; at most 64 of them stay open"
	if !strings.Contains(stderr.String(), "pa-record sim: note: closed 13") || !strings.Contains(stderr.String(), note) { // 136 or 137
		t.Errorf("the note is missing: %q", stderr.String())
	}
}
