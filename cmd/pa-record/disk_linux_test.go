package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/sim"
)

// calm makes a server slow enough for four slots to give about 100 kB of journal a second: several
// buffers, one every quarter of a second, before the disk is full.
var calm = []string{"--ttft", "5ms", "--itl", "1ms", "--output-tokens", "20"}

// journalRoomBytes is the room that the journal of a calm load fills within about a second. 64 KiB
// of it are reserved for the end of the journal.
func journalRoomBytes() int { return 200_000 / testenv.Stride(2) }

// endless is a load that only a full disk ends.
func endless(srv simProcess, exports ...string) []string {
	args := []string{"--service-kind", "openai", "-u", srv.openAI, "--streaming", "--concurrency-range", "4", "--duration", "1h"}
	for _, e := range exports {
		args = append(args, "--profile-export-file", e)
	}
	return args
}

// wholeRequests checks that the successful requests of an export are whole, and
// returns how many there are.
func wholeRequests(t *testing.T, path string) int {
	t.Helper()
	_, requests := exporttest.Read(t, path)
	n := 0
	for i := range requests {
		if requests[i].Status != export.StatusOK {
			continue
		}
		n++
		if text := exporttest.Joined(&requests[i], "response"); !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Fatalf("request %d ends with %q", requests[i].ID, text[max(0, len(text)-40):])
		}
	}
	return n
}

// A journal that grows beyond the limit on file sizes ends the run with one line;
// what was recorded until then is in the export.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	path := filepath.Join(t.TempDir(), "x.parquet")
	r := runChild(t, []string{fileLimitEnv + "=" + strconv.Itoa(journalRoomBytes())}, 0, endless(srv, path)...)
	journal := exportStem(path) + journal.Suffix
	_, requests := exporttest.Read(t, path)
	want := fmt.Sprintf("pa-record: write the export: journal %s: file too large; requests kept: %d, in %s", journal, len(requests), path)
	if r.code != 1 || r.lastLine() != want {
		t.Fatalf("exit code %d, want 1 and the last line\n%s\nof:\n%s", r.code, want, r.stderr)
	}
	if n := wholeRequests(t, path); n < 20 {
		t.Errorf("%d requests, want at least 20", n)
	}
	if run, _ := exporttest.Read(t, path); run.Meta.EndNS == 0 || len(run.Meta.Warnings) == 0 || !strings.Contains(run.Meta.Warnings[len(run.Meta.Warnings)-1], "file too large") {
		t.Errorf("the export says nothing of it: %+v", run.Meta)
	}
	if _, err := os.Stat(journal); err == nil {
		t.Error("the journal is left, though the export has all of it")
	}
}

// If the disk has no room for the journal, a second journal or the export, the run ends with one
// line, and the journal can be read and recovered. The export has a multiple of the journal's bytes.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	dir, keep := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "x.json")
	r := runChild(t, []string{tmpfsEnv + "=200000:" + dir + ":" + keep}, syscall.CLONE_NEWNS, append(endless(srv, path), "--spill-dir", dir)...)
	journal := exportStem(path) + journal.Suffix
	full := "no space left on device; it cannot be moved to " + dir + ": no space left on device"
	want := "pa-record: write the export: journal " + journal + ": " + full + "; "
	kept := filepath.Join(keep, filepath.Base(journal))
	_, requests := exporttest.Read(t, kept)
	advice := fmt.Sprintf("; requests kept: %d, in %s: free space there, then run pa-record recover %s", len(requests), journal, journal)
	if r.code != 1 || !strings.HasPrefix(r.lastLine(), want) || !strings.HasSuffix(r.lastLine(), advice) {
		t.Fatalf("exit code %d, want 1 and the last line\n%s…%s\nof:\n%s", r.code, want, advice, r.stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(keep, "*")); len(left) != 1 || filepath.Base(left[0]) != filepath.Base(journal) {
		t.Fatalf("left %q, want the journal alone", left)
	}
	code, stdout, stderr := inProcess(t.Context(), t, "recover", kept)
	if code != 0 {
		t.Fatalf("recover: exit code %d: %s%s", code, stdout, stderr)
	}
	// The run was not killed, and the journal and its export know why it ended.
	why := fmt.Sprintf("ended early: write the export: journal %s: %s", journal, full)
	if said := fmt.Sprintf("requests recovered: %d (the run %s); wrote ", len(requests), why); !strings.Contains(stdout, said) {
		t.Errorf("recover says %q, want %q", stdout, said)
	}
	path = exportStem(kept[:len(kept)-len(".journal")]) + ".json"
	if run, _ := exporttest.Read(t, path); run.Meta.Interrupted != "" || run.Meta.EndNS == 0 || !slices.Contains(run.Meta.Warnings, why) {
		t.Errorf("the export says %+v, want the warning %q", run.Meta, why)
	}
	if n := wholeRequests(t, path); n < 20 {
		t.Errorf("%d requests, want at least 20", n)
	}
}

// A run whose disk is full continues its journal in the folder of --spill-dir. The export
// does not fit on the disk either, and the last line is a command that writes it. It holds all
// bytes that the server sent.
func TestDiskFullSpills(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	dir, keep, spill := t.TempDir(), t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "x.json")
	n := 300 / testenv.Stride(2) // requests
	r := runChild(t, []string{tmpfsEnv + "=" + strconv.Itoa(journalRoomBytes()) + ":" + dir + ":" + keep}, syscall.CLONE_NEWNS, "--service-kind", "openai", "-u", srv.openAI, "--streaming",
		"--concurrency-range", "4", "--request-count", strconv.Itoa(n), "--profile-export-file", path, "--spill-dir", spill)
	first := exportStem(path) + journal.Suffix
	kept, _ := filepath.Glob(filepath.Join(spill, "*"))
	if len(kept) != 1 {
		t.Fatalf("in the folder of --spill-dir: %q, want one journal; standard error:\n%s", kept, r.stderr)
	}
	warning := fmt.Sprintf("pa-record: warning: journal %s: no space left on device; the recording continues in %s\n", first, kept[0])
	want := fmt.Sprintf("pa-record: write the export: %s: no space left on device; requests kept: %d, in %s: free space in %s, then run pa-record recover --profile-export-file %s %s", path, n, kept[0], dir, path, kept[0])
	if r.code != 1 || r.lastLine() != want || !strings.Contains(r.stderr, warning) {
		t.Fatalf("exit code %d, want 1, the warning\n%s\nand the last line\n%s\nof:\n%s", r.code, warning, want, r.stderr)
	}
	path = filepath.Join(keep, "x.json")
	code, stdout, stderr := inProcess(t.Context(), t, "recover", "--profile-export-file", path, kept[0])
	if code != 0 {
		t.Fatalf("recover: exit code %d: %s%s", code, stdout, stderr)
	}
	checkRecorded(t, path, srv.ledger(t), n)
	if left, _ := filepath.Glob(filepath.Join(spill, "*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// checkRecorded compares an export with the server's ledger, request by request: it has n
// successful requests, and each has the bytes that the server sent.
func checkRecorded(t *testing.T, path string, entries []sim.Entry, n int) {
	t.Helper()
	sent := map[string]string{}
	for _, e := range entries {
		sent[e.ID] = string(e.Sent())
	}
	_, requests := exporttest.Read(t, path)
	good := 0
	for i := range requests {
		q := &requests[i]
		if q.Status != export.StatusOK {
			continue
		}
		good++
		id, _ := exporttest.AnswerID(q)
		if want, ok := sent[id]; !ok || exporttest.Joined(q, "response") != want {
			t.Errorf("request %d, answer %q: recorded %q, sent %q", q.ID, id, exporttest.Joined(q, "response"), want)
		}
	}
	if good != n {
		t.Errorf("%d successful requests, want %d", good, n)
	}
}

// A disk that is full for one export only when the run is over keeps the journal.
func TestDiskFullAtEnd(t *testing.T) {
	t.Parallel()
	srv := startSim(t, calm...)
	here, dir, keep := t.TempDir(), t.TempDir(), t.TempDir()
	first, second := filepath.Join(here, "x.json"), filepath.Join(dir, "y.json")
	args := append(endless(srv, first, second), "--request-count", "100")
	for i, a := range args {
		if a == "--duration" {
			args = append(args[:i], args[i+2:]...)
			break
		}
	}
	r := runChild(t, []string{tmpfsEnv + "=65536:" + dir + ":" + keep}, syscall.CLONE_NEWNS, args...)
	journal := exportStem(first) + journal.Suffix
	want := fmt.Sprintf("pa-record: write the export: %s: no space left on device; requests kept: 100, in %s: free space there, then run pa-record recover %s", second, journal, journal)
	if r.code != 1 || r.lastLine() != want {
		t.Fatalf("exit code %d, want 1 and the last line\n%s\nof:\n%s", r.code, want, r.stderr)
	}
	if n := wholeRequests(t, first); n != 100 {
		t.Errorf("%d requests in the first export, want 100", n)
	}
	if left, _ := filepath.Glob(filepath.Join(keep, "*")); len(left) != 0 {
		t.Errorf("left on the full disk: %q", left)
	}
	if n := wholeRequests(t, journal); n != 100 {
		t.Errorf("%d requests in the journal, want 100", n)
	}

	// So does a recovery for which there is no room.
	third := filepath.Join(here, "z.json")
	r = runChild(t, []string{fileLimitEnv + "=10000"}, 0, "recover", "--profile-export-file", third, journal)
	want = fmt.Sprintf("pa-record: %s: file too large; requests kept: 100, in %s: raise the limit on file sizes (ulimit -f), then run pa-record recover %s", third, journal, journal)
	if r.code != 1 || r.lastLine() != want {
		t.Fatalf("exit code %d, want 1 and the last line\n%s\nof:\n%s", r.code, want, r.stderr)
	}
	if n := wholeRequests(t, journal); n != 100 {
		t.Errorf("%d requests in the journal, want 100", n)
	}
}
