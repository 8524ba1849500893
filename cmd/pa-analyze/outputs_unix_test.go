//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// outputCommands are commands that write OUT from IN. private says that OUT holds single
// requests, prompts or answers.
var outputCommands = map[string]struct {
	args    string
	private bool
}{
	"report":        {"report IN -o OUT", false},
	"report json":   {"report IN --format json -o OUT", false},
	"report html":   {"report IN --format html -o OUT", true},
	"a tool's json": {"report IN --dialect vllm --format json -o OUT", true},
	"check":         {"check IN -o OUT", false},
	"definitions":   {"definitions IN -o OUT", false},
	"diff":          {"diff IN IN --single-run -o OUT", false},
	"diff junit":    {"diff IN IN --single-run --format junit -o OUT", false},
	"diff html":     {"diff IN IN --single-run --html OUT", true},
	"html":          {"html IN -o OUT", true},
	"plot":          {"plot timeline IN -o OUT.svg", false},
	"pareto":        {"pareto IN -o OUT", false},
	"requests":      {"requests IN --format jsonl -o OUT", true},
	"trace":         {"trace IN -o OUT", true},
	"write":         {"write --to pytorch-hud IN -o OUT", false},
	"compressed":    {"trace IN -o OUT.gz", true},
	"convert":       {"convert IN OUT.json", true},
	"Parquet":       {"convert IN OUT.parquet", true},
	"convert as":    {"convert IN OUT.json --as perf_analyzer-24.03", true},
	"tokenize":      {"tokenize IN -o OUT", true},
}

// outputArgs writes the input into dir and returns the arguments of a command and its output.
func outputArgs(t *testing.T, dir, args string) (words []string, out string) {
	t.Helper()
	in := filepath.Join(dir, "in.json")
	if err := os.WriteFile(in, []byte(streamedExport), 0o600); err != nil {
		t.Fatal(err)
	}
	words = strings.Fields(args)
	for i, w := range words {
		if w == "IN" {
			words[i] = in
		}
		if rest, ok := strings.CutPrefix(w, "OUT"); ok {
			out = filepath.Join(dir, "out"+rest)
			words[i] = out
		}
	}
	return words, out
}

// wrote reports whether a command has written its output: 1 says that the input lacks
// something, 3 and 4 are gates.
func wrote(t *testing.T, got result, out string) bool {
	t.Helper()
	st, err := os.Stat(out)
	if err != nil || st.Size() == 0 {
		t.Errorf("exit code %d, %v: %s", got.code, err, got.stderr)
		return false
	}
	return true
}

// Files with prompts, answers or single requests are for their owner only, reports follow the
// umask, and a replaced file keeps its mode. A link is written through, and refused without
// --overwrite.
func TestOutputModes(t *testing.T) {
	byUmask := filepath.Join(t.TempDir(), "umask")
	if err := os.WriteFile(byUmask, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(byUmask)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range outputCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args, out := outputArgs(t, dir, tt.args)
			if got := exec(t, "", args...); !wrote(t, got, out) {
				return
			}
			want := st.Mode()
			if tt.private {
				want = 0o600
			}
			if st, err := os.Stat(out); err != nil || st.Mode() != want {
				t.Errorf("%v, %v; want mode %v", st.Mode(), err, want)
			}
			target := filepath.Join(dir, "target")
			if err := errors.Join(os.Remove(out), os.WriteFile(target, nil, 0o600), os.Chmod(target, 0o640), os.Symlink("target", out)); err != nil {
				t.Fatal(err)
			}
			if got := exec(t, "", args...); got.code == 0 || !strings.Contains(got.stderr, "is there already") {
				t.Errorf("a link without --overwrite: exit code %d: %s", got.code, got.stderr)
			}
			if st, err := os.Stat(target); err != nil || st.Size() != 0 {
				t.Errorf("the link is followed without --overwrite: %v, %v", st, err)
			}
			if got := exec(t, "", append(args, "--overwrite")...); !wrote(t, got, target) {
				return
			}
			if st, err := os.Stat(target); err != nil || st.Mode() != 0o640 {
				t.Errorf("mode %v, %v; want 0640 as before", st.Mode(), err)
			}
			if st, err := os.Lstat(out); err != nil || st.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link is replaced: %v, %v", st, err)
			}
			if all, _ := os.ReadDir(dir); len(all) != 3 {
				t.Errorf("files %v; want the input, the link and its target", all)
			}
		})
	}
}

// A pipe that no process reads is refused, and the first interrupt ends a command that waits
// for a reader that reads no more.
func TestStalledOutput(t *testing.T) {
	for name, tt := range outputCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args, out := outputArgs(t, dir, tt.args)
			args = append(args, "--overwrite")
			testenv.Pipe(t, out)
			if testenv.IsLong() || slices.Contains([]string{"report", "convert", "diff html"}, name) { // it takes half a second
				if got := execWithin(t.Context(), t, args); got.code != 2 || !strings.Contains(got.stderr, out+": no process reads this pipe; start its reader first, or give a file") {
					t.Errorf("without a reader: exit code %d: %s", got.code, got.stderr)
				}
			}
			testenv.FillPipe(t, out)
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(cmdline.SignalError{Signal: os.Interrupt}) })
			if got := execWithin(ctx, t, args); got.code != 130 {
				t.Errorf("with a reader that stalls: exit code %d: %s", got.code, got.stderr)
			}
		})
	}
}

// execWithin is exec that fails if the command hangs.
func execWithin(ctx context.Context, t *testing.T, args []string) result {
	t.Helper()
	ended := make(chan result, 1)
	go func() {
		var stdout, stderr bytes.Buffer
		code := run(ctx, append([]string{"pa-analyze"}, args...), strings.NewReader(""), &stdout, &stderr)
		ended <- result{code, stdout.String(), stderr.String()}
	}()
	select {
	case got := <-ended:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("the command hangs")
		return result{}
	}
}

// A full device is named, and nothing is left beside it.
func TestFullOutput(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		testenv.Lacks(t, "a full device: %v", err)
	}
	for _, command := range []string{"report IN -o", "html IN -o", "trace IN -o", "requests IN -o", "diff IN IN --single-run --html"} {
		args, _ := outputArgs(t, t.TempDir(), command)
		got := exec(t, "", append(args, full, "--overwrite")...)
		if got.code != 1 || !strings.Contains(got.stderr, "/dev/full: no space left on device") {
			t.Errorf("%s: exit code %d: %s", command, got.code, got.stderr)
		}
	}
	// A name with an ending leads there by a link.
	for _, ending := range []string{".json", ".json.gz", ".json.zst", ".parquet", ".arrow"} {
		link := filepath.Join(t.TempDir(), "x"+ending)
		if err := os.Symlink(full, link); err != nil {
			t.Fatal(err)
		}
		args, _ := outputArgs(t, t.TempDir(), "convert IN")
		got := exec(t, "", append(args, link, "--overwrite")...)
		if want := "pa-analyze: " + link + ": no space left on device\n"; got.code != 1 || got.stderr != want {
			t.Errorf("convert into %s: exit code %d: %swant %s", ending, got.code, got.stderr, want)
		}
	}
}

// The second interrupt ends the program at once, also as a background job of a shell script,
// which ignores interrupts, and while it writes to a pipe that nobody reads.
func TestSecondInterrupt(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(in, []byte(strings.Repeat("a\n", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command("sh", "-c", `trap "" INT; exec "$0" "$@"`, "pa-analyze", "tokenize", in)
	_, stdout := testenv.Start(t, cmd)
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil { // and no more
		t.Fatal(err)
	}
	ended := make(chan *os.ProcessState, 1)
	go func() {
		st, _ := cmd.Process.Wait()
		ended <- st
	}()
	again := time.NewTicker(20 * time.Millisecond) // two at once may be one
	defer again.Stop()
	for {
		select {
		case <-again.C:
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		case st := <-ended:
			if !timer.Stop() || st.ExitCode() != 130 {
				t.Errorf("exit code %d, want 130 after the second interrupt", st.ExitCode())
			}
			return
		}
	}
}
