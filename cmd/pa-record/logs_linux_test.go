package main

import (
	"bufio"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/nettest"
)

// net/http's log about a server that breaks HTTP/2 does not reach standard error: the
// row of the request says it.
func TestHTTP2Logs(t *testing.T) {
	addr := nettest.StartServer(t, func(c net.Conn) {
		if _, err := bufio.NewReader(c).Peek(1); err != nil {
			return
		}
		_, _ = io.WriteString(c, "\x00\x00\x08\x06\x00\x00\x00\x00\x00PingPing") // PING instead of SETTINGS
		_, _ = io.Copy(io.Discard, c)
	})
	args := []string{"--service-kind", "openai", "-m", "m", "--http2", "-u", "http://" + addr, "--request-count", "2", "--profile-export-file", filepath.Join(t.TempDir(), "e.json")}
	r := runChild(t, nil, 0, args...)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	for line := range strings.Lines(r.stderr) {
		if !strings.HasPrefix(line, "pa-record: ") && strings.TrimSpace(line) != "" {
			t.Errorf("a line that is not pa-record's: %q", line)
		}
	}
	if r := runChild(t, []string{"GODEBUG=http2debug=1"}, 0, args...); !strings.Contains(r.stderr, "SETTINGS") {
		t.Errorf("GODEBUG=http2debug=1 shows nothing of it: %s", r.stderr)
	}
}
