package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/cmd/pa-record/simserver"
	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// quickSim is the URL of a simulated server that answers at once.
const quickSim = "sim://?ttft=1ms&itl=1ms&output_tokens=3"

// A pipe that no process reads is refused before anything is sent, whatever output it is.
func TestPipeWithoutReader(t *testing.T) {
	t.Parallel()
	// Nobody listens there: a run that asked the server would fail for that reason.
	const run = "-m m --service-kind openai -u 127.0.0.1:1 "
	for name, args := range map[string]string{
		"CSV":         run + "-f PIPE",
		"page":        run + "--html PIPE --overwrite",
		"JSON":        run + "--profile-export-file PIPE",
		"Parquet":     run + "--profile-export-file PIPE.parquet",
		"Arrow":       run + "--profile-export-file PIPE.arrow",
		"compressed":  run + "--profile-export-file PIPE.json.zst",
		"second file": run + "--profile-export-file x.json --profile-export-file PIPE",
		"repeated":    run + "--repeat 2 -f PIPE.csv",
		"GenAI-Perf":  "genai-perf profile -m m --service-kind openai --endpoint-type chat -u 127.0.0.1:1 --artifact-dir FOLDER --profile-export-file p.json",
		"ledger":      "sim " + strings.Join(simserver.Addresses("openai-addr"), " ") + " --ledger PIPE",
		"inputs":      "inputs --service-kind openai --overwrite -o PIPE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			words := strings.Fields(args)
			for i, w := range words {
				if rest, ok := strings.CutPrefix(w, "PIPE"); ok {
					words[i] = filepath.Join(dir, "p"+rest)
					pipe := words[i]
					if name == "repeated" {
						pipe = filepath.Join(dir, "p.2.csv")
					}
					testenv.Pipe(t, pipe)
				}
				switch w {
				case "x.json":
					words[i] = filepath.Join(dir, w)
				case "FOLDER":
					words[i] = dir
					folder := filepath.Join(dir, "m-openai-chat-concurrency1")
					if err := os.Mkdir(folder, 0o700); err != nil {
						t.Fatal(err)
					}
					testenv.Pipe(t, filepath.Join(folder, "p.json"))
				}
			}
			if strings.HasPrefix(args, run) && !strings.Contains(args, "--profile-export-file") {
				words = append(words, "--profile-export-file", filepath.Join(dir, "x.json"))
			}
			type result struct {
				code   int
				stderr string
			}
			ended := make(chan result, 1)
			go func() {
				code, _, stderr := inProcess(t.Context(), t, words...)
				ended <- result{code, stderr}
			}()
			select {
			case got := <-ended:
				if got.code != 2 || !strings.Contains(got.stderr, "no process reads this pipe; start its reader first, or give a file") {
					t.Errorf("exit code %d: %s", got.code, got.stderr)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it waits for a reader")
			}
			if all, _ := os.ReadDir(dir); len(all) != 1 {
				t.Errorf("%d files, want the pipe alone: %v", len(all), all)
			}
		})
	}
}

// The second signal ends a run whose output nobody reads any more, and what was measured is
// kept.
func TestStalledOutputs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   string
		signal syscall.Signal
		code   int
		says   string
		kept   bool // the journal stays
	}{
		"CSV":            {"-f PIPE", syscall.SIGINT, 130, "-f: a second signal stopped the writing", false},
		"page":           {"--html PIPE --overwrite", syscall.SIGTERM, 143, "--html: a second signal stopped the writing", false},
		"JSON":           {"--profile-export-file PIPE", syscall.SIGINT, 130, "a second signal stopped the writing of the export; requests kept: 10", true},
		"Parquet":        {"--profile-export-file PIPE.parquet", syscall.SIGTERM, 143, "requests kept: 10", true},
		"compressed":     {"--profile-export-file PIPE.json.gz", syscall.SIGINT, 130, "requests kept: 10", true},
		"Arrow and more": {"--profile-export-file PIPE.arrow -f PIPE.csv --html PIPE.html --overwrite", syscall.SIGINT, 130, "pa-record recover ", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			export := filepath.Join(dir, "x.json")
			words := strings.Fields("-u " + quickSim + " --request-count 10 --profile-export-file " + export + " " + tt.args)
			for i, w := range words {
				if rest, ok := strings.CutPrefix(w, "PIPE"); ok {
					words[i] = testenv.FillPipe(t, testenv.Pipe(t, filepath.Join(dir, "p"+rest)))
				}
			}
			stderr := signalTwice(t, words, tt.signal, tt.code, func() bool {
				_, err := os.Stat(export) // what comes next is the pipe
				return err == nil
			})
			if !strings.Contains(stderr, tt.says) {
				t.Errorf("standard error: %s\nwant %q", stderr, tt.says)
			}
			if _, requests := exporttest.Read(t, export); len(requests) != 10 {
				t.Errorf("%d requests in the export, want 10", len(requests))
			}
			place := filepath.Join(dir, "x"+journal.Suffix)
			if _, err := os.Stat(place); (err == nil) != tt.kept {
				t.Errorf("the journal: %v; want it kept: %v", err, tt.kept)
			}
			if !tt.kept {
				return
			}
			if !strings.Contains(stderr, "pa-record recover "+place) {
				t.Errorf("standard error lacks the way to recover: %s", stderr)
			}
			pipe := testenv.Pipe(t, filepath.Join(dir, "again.fifo"))
			// In a process of its own: children that other tests fork meanwhile would keep a lock of this process for a moment.
			if r := runChild(t, nil, 0, "recover", "--profile-export-file", pipe, place); r.code != 2 || !strings.Contains(r.stderr, "no process reads this pipe; start its reader first, or give a file; "+place+" is kept") {
				t.Errorf("recover into a pipe without a reader: exit code %d: %s", r.code, r.stderr)
			}
			again := filepath.Join(dir, "again.json")
			if code, _, stderr := inProcess(t.Context(), t, "recover", "--profile-export-file", again, place); code != 0 {
				t.Fatalf("recover: exit code %d: %s", code, stderr)
			}
			if _, requests := exporttest.Read(t, again); len(requests) != 10 {
				t.Errorf("%d requests recovered, want 10", len(requests))
			}
		})
	}
}

// signalTwice starts pa-record, sends it a signal when ready says so, and again when it
// answers the first. It returns standard error.
func signalTwice(t *testing.T, args []string, signal syscall.Signal, code int, ready func() bool) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	if !eventually(ready) {
		t.Error("pa-record did not come to the pipe")
	}
	send := func() {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Error(err)
		}
	}
	send()
	var said strings.Builder
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "again to stop at once") {
			send()
			timer.Reset(20 * time.Second) // it takes less than one
		}
	}
	_ = cmd.Wait() // its error is the exit code
	if !timer.Stop() {
		t.Fatalf("pa-record hangs: %s", said.String())
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, said.String())
	}
	return said.String()
}

// The second signal ends the simulated server while it writes a ledger that nobody reads.
func TestStalledLedger(t *testing.T) {
	t.Parallel()
	pipe := testenv.FillPipe(t, testenv.Pipe(t, filepath.Join(t.TempDir(), "ledger")))
	srv, process := startMortalSim(t, "--ttft", "1ms", "--itl", "0s", "--output-tokens", "2", "--ledger", pipe)
	code, _, stderr := inProcess(t.Context(), t, "--service-kind", "openai", "-u", srv.openAI, "--request-count", "2", "--profile-export-file", filepath.Join(t.TempDir(), "x.json"))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "x.json")
	// It does not listen any more when it writes the ledger.
	closed := func() bool {
		code, _, _ := inProcess(t.Context(), t, "--service-kind", "openai", "-m", "m", "-u", srv.openAI, "--request-count", "1", "--overwrite", "--profile-export-file", again)
		return code != 0
	}
	if !eventually(closed) {
		t.Fatal("the first signal does not close the server")
	}
	if err := process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan *os.ProcessState, 1)
	go func() {
		st, _ := process.Wait()
		ended <- st
	}()
	select {
	case st := <-ended:
		if st.ExitCode() != 130 {
			t.Errorf("exit code %d, want 130", st.ExitCode())
		}
	case <-time.After(20 * time.Second):
		t.Error("the server waits for the reader of its ledger")
	}
}

// An output on a full device is named, and the run is kept.
func TestFullDevice(t *testing.T) {
	t.Parallel()
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		testenv.Lacks(t, "a full device: %v", err)
	}
	for name, tt := range map[string]struct{ args, want string }{
		"CSV":    {"-f " + full, "-f: /dev/full: no space left on device"},
		"page":   {"--html " + full + " --overwrite", "--html: /dev/full: no space left on device"},
		"export": {"--profile-export-file " + full, "/dev/full: no space left on device; requests kept: 10"},
	} {
		dir := t.TempDir()
		export := filepath.Join(dir, "x.json")
		code, _, stderr := inProcess(t.Context(), t, strings.Fields("-u "+quickSim+" --request-count 10 --profile-export-file "+export+" "+tt.args)...)
		if code != 1 || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d: %s\nwant %q", name, code, stderr, tt.want)
		}
		if _, requests := exporttest.Read(t, export); len(requests) != 10 {
			t.Errorf("%s: %d requests in the export, want 10", name, len(requests))
		}
	}
	if code, _, stderr := inProcess(t.Context(), t, "inputs", "--service-kind", "openai", "--overwrite", "-o", full); code != 1 || !strings.Contains(stderr, "/dev/full: no space left on device") {
		t.Errorf("inputs: exit code %d: %s", code, stderr)
	}
}

// A page and a report are made from an export that can be read again.
func TestExportIsReadAgain(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.html")
	export := filepath.Join(filepath.Dir(page), "x.json")
	for flag, args := range map[string][]string{"--html": {"--html", page}, "--report": {"--report"}} {
		args = append(args, "-u", quickSim, "--request-count", "2", "--profile-export-file", os.DevNull)
		code, _, stderr := inProcess(t.Context(), t, args...)
		if code != 2 || !strings.Contains(stderr, flag+" reads the export") {
			t.Errorf("%s: exit code %d: %s", flag, code, stderr)
		}
		code, stdout, stderr := inProcess(t.Context(), t, append(args, "--profile-export-file", export, "--overwrite")...)
		if _, err := os.Stat(page); code != 0 || flag == "--html" && err != nil || flag == "--report" && !strings.Contains(stdout, "recorded by") {
			t.Errorf("%s: exit code %d, the page: %v: %s", flag, code, err, stderr)
		}
	}
}

// Files with prompts or answers are for their owner only, reports follow the umask, and a
// replaced file keeps its mode. A link is written through.
func TestOutputModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mode := func(name string) fs.FileMode {
		st, err := os.Lstat(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode()
	}
	if err := os.WriteFile(in("umask"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	record := func(more ...string) {
		t.Helper()
		args := []string{"-u", quickSim, "--request-count", "2", "--html", in("p.html"), "-f", in("c.csv")}
		for _, name := range []string{"x.json", "x.parquet", "x.arrow", "x.json.gz"} {
			args = append(args, "--profile-export-file", in(name))
		}
		if code, _, stderr := inProcess(t.Context(), t, append(args, more...)...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	record()
	private := []string{"x.json", "x.parquet", "x.arrow", "x.json.gz", "p.html", "i.json"}
	if code, _, stderr := inProcess(t.Context(), t, "inputs", "--service-kind", "openai", "-o", in("i.json")); code != 0 {
		t.Fatalf("inputs: exit code %d: %s", code, stderr)
	}
	for _, name := range private {
		if got := mode(name); got != 0o600 {
			t.Errorf("%s: mode %v, want 0600", name, got)
		}
	}
	if got, want := mode("c.csv"), mode("umask"); got != want {
		t.Errorf("c.csv: mode %v, want %v", got, want)
	}
	all := slices.Concat(private[:len(private)-1], []string{"c.csv"})
	for _, name := range all {
		if err := errors.Join(os.Chmod(in(name), 0o640), os.Rename(in(name), in("real."+name)), os.Symlink("real."+name, in(name)), os.Truncate(in("real."+name), 0)); err != nil {
			t.Fatal(err)
		}
	}
	record("--overwrite")
	for _, name := range all {
		st, err := os.Stat(in("real." + name))
		if err != nil || st.Size() == 0 || st.Mode() != 0o640 || mode(name)&fs.ModeSymlink == 0 {
			t.Errorf("%s: %v, %v; want a link to a file with content and mode 0640", name, st, err)
		}
	}
}
