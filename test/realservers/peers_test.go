//go:build realservers

package realservers

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
)

// With REALSERVERS=all: the Rust clients of vLLM and SGLang come out of their wheels, and run beside pa-record. Each has
// all figures that it can give.
func TestBenchPeers(t *testing.T) {
	if os.Getenv("REALSERVERS") != "all" {
		t.Skip("the wheels are 375 MB; REALSERVERS=all downloads them")
	}
	clients := install(t, "peers/install.sh")
	r := runProgram(t, golden.Root(t), "go", "run", "-buildvcs=false", "./test/loadbench", "-record", program(t, "pa-record"),
		"-sections", "peers", "-reps", "1", "-streams", "4", "-rounds", "2", "-tokens", "10", "-peers", clients)
	if r.Code != 0 {
		t.Fatal(r)
	}
	missing := regexp.MustCompile(`n/a( \([^)]*\))?`)
	for client, want := range map[string]string{
		"pa-record, loop": "", "pa-record, nethttp": "", "vllm-": "", "sglang-": strings.Repeat("n/a (gaps only)", 3),
	} {
		_, row, ok := strings.Cut(r.Stdout, "| 4 | "+client)
		row, _, _ = strings.Cut(row, "\n")
		if got := strings.Join(missing.FindAllString(row, -1), ""); !ok || got != want {
			t.Errorf("%s: %q, %q missing, want %q", client, row, got, want)
		}
	}
}
