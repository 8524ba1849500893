//go:build unix

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/journal"
	"github.com/pa-tools/pa/pkg/sim"
)

// killsVariable is the environment variable that sets the number of kills of TestKills.
const killsVariable = "PA_TEST_KILLS"

// A run that is killed at any time leaves nothing, an export with all requests, or a
// journal with every request that ended more than a second before. A cut file never looks
// complete, and each recorded answer has the bytes that the server sent. The runs
// end after 2 s, and the kills come within 3 s: while a run starts, during the load, while it
// ends, and after it has ended.
func TestKills(t *testing.T) {
	testenv.Long(t)
	kills := 20
	if text := os.Getenv(killsVariable); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil || kills < 1 {
			t.Fatalf("%s=%s: expected a number of kills", killsVariable, text)
		}
	}
	srv := startSim(t, "--ttft", "5ms", "--itl", "2ms", "--output-tokens", "normal:20,5")
	random := rand.New(rand.NewPCG(uint64(kills), 20))
	var total killed
	for i := range kills {
		k := killedRun{
			srv: srv, dir: t.TempDir(), after: time.Duration(random.Int64N(int64(3 * time.Second))), first: total.served,
			format: []string{".json", ".parquet", ".arrow"}[i%3], transport: []string{"loop", "nethttp"}[i%2],
		}
		total.add(k.check(t, i))
	}
	t.Logf("%d kills: %d runs left nothing, %d an empty journal, %d a journal, %d an export, %d besides a part of an export; %d requests served, %d compared, %d lost in the last second",
		kills, total.nothing, total.empty, total.journals, total.exports, total.partial, total.served, total.compared, total.lost)
	if total.journals == 0 || total.exports == 0 || total.compared < 20*kills {
		t.Error("too few kills of each kind")
	}
}

// A killed counts the files that killed runs left.
type killed struct {
	nothing, empty, journals, exports, partial int
	served, compared, lost                     int // requests
}

func (k *killed) add(o killed) {
	k.nothing += o.nothing
	k.empty += o.empty
	k.journals += o.journals
	k.exports += o.exports
	k.partial += o.partial
	k.served += o.served
	k.compared += o.compared
	k.lost += o.lost
}

// A killedRun is a run and the time at which it is killed.
type killedRun struct {
	srv               simProcess
	dir               string
	after             time.Duration
	first             int // number of requests that the server had served before
	format, transport string
}

// check starts the run, kills it, and compares what it left with the server's ledger.
func (k *killedRun) check(t *testing.T, number int) (seen killed) {
	t.Helper()
	path := filepath.Join(k.dir, "x"+k.format)
	cmd := exec.Command(os.Args[0], "--service-kind", "openai", "-u", k.srv.openAI, "--streaming", "--transport", k.transport,
		"--concurrency-range", "8", "--duration", "2s", "--profile-export-file", path, "--quiet")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(k.after)
	_ = cmd.Process.Kill() // it may have ended
	at := uint64(time.Now().UnixNano())
	ended := cmd.Wait() == nil
	entries := k.srv.askLedger(t, "?wait=true&since="+strconv.Itoa(k.first))
	seen.served = len(entries)

	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("kill %d, %v after the start, %s, %s: "+format, append([]any{number, k.after, k.format, k.transport}, args...)...)
	}
	journalPath := filepath.Join(k.dir, "x"+journal.Suffix)
	st, err := os.Stat(journalPath)
	_, exportErr := os.Stat(path)
	var whole bool
	switch {
	case ended && exportErr != nil:
		fail("it ended without an export: %s", &stderr)
		return seen
	case exportErr == nil: // the journal may be there: the export comes first
		seen.exports++
		whole = true
		if !ended && err == nil {
			k.readJournal(t, fail, journalPath)
		}
	case errors.Is(err, fs.ErrNotExist):
		seen.nothing++
	case st.Size() == 0:
		seen.empty++
	default:
		seen.journals++
		k.readJournal(t, fail, journalPath)
	}
	if partial := path + ".pa-partial"; readsWhole(t, partial) {
		// It is whole but for its name, or it would have to say that it is not.
		run, requests := exporttest.Read(t, partial)
		if run.Meta.EndNS == 0 || len(requests) < answered(entries) {
			fail("a part of an export, %d of %d requests, reads as a whole one", len(requests), answered(entries))
		}
	} else if _, err := os.Stat(partial); err == nil {
		seen.partial++
	}
	if exportErr != nil && err == nil {
		code, stdout, errs := inProcess(t.Context(), t, "recover", "--profile-export-file", path, journalPath)
		if code != 0 {
			fail("recover: exit code %d: %s%s", code, stdout, errs)
			return seen
		}
	}
	recorded := map[string]*export.Request{}
	if _, err := os.Stat(path); err == nil {
		run, requests := exporttest.Read(t, path)
		if (run.Meta.EndNS == 0) != (run.Meta.Interrupted == "killed") || whole && run.Meta.EndNS == 0 {
			fail("the export ends at %d and is %q", run.Meta.EndNS, run.Meta.Interrupted)
		}
		whole = whole || run.Meta.EndNS != 0
		for i := range requests {
			if id, ok := exporttest.AnswerID(&requests[i]); ok && requests[i].Status == export.StatusOK {
				recorded[id] = &requests[i]
			}
		}
	}
	for i := range entries {
		e := &entries[i]
		q := recorded[e.ID]
		delete(recorded, e.ID)
		switch {
		case q != nil && exporttest.Joined(q, "response") != string(e.Sent()):
			fail("%s: recorded %q, sent %q", e.ID, exporttest.Joined(q, "response"), e.Sent())
		case q != nil:
			seen.compared++
		case e.End != sim.EndOK:
		case whole:
			fail("%s is missing in an export that is whole", e.ID)
		case e.EndedNS+uint64(time.Second) < at:
			fail("%s ended %v before the kill and is lost", e.ID, time.Duration(at-e.EndedNS))
		default:
			seen.lost++
		}
	}
	for id := range recorded {
		fail("%s is recorded, and the server never sent it", id)
	}
	for _, name := range []string{path, path + ".pa-partial", journalPath} {
		_ = os.Remove(name)
	}
	if left, _ := filepath.Glob(filepath.Join(k.dir, "*")); len(left) > 0 {
		fail("left: %q", left)
	}
	return seen
}

// readJournal checks that the journal of a killed run can be read as it is, and says that it
// was cut unless its run had ended.
func (k *killedRun) readJournal(t *testing.T, fail func(format string, args ...any), path string) {
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(t.Context(), path)
	var cut *export.CutError
	if err != nil {
		if !errors.As(err, &cut) {
			fail("the journal: %v", err)
		}
		return
	}
	defer r.Close()
	for r.Next() {
	}
	meta := r.Run().Meta
	switch err := r.Err(); {
	case err == nil && (meta == nil || meta.EndNS == 0):
		fail("the journal reads as whole, and its run had not ended")
	case err != nil && !errors.As(err, &cut):
		fail("the journal: %v", err)
	}
}

// answered counts the requests that were answered to their end.
func answered(entries []sim.Entry) (n int) {
	for i := range entries {
		if entries[i].End == sim.EndOK {
			n++
		}
	}
	return n
}

// readsWhole reports whether an export can be read to its end without an error.
func readsWhole(t *testing.T, path string) bool {
	t.Helper()
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(t.Context(), path)
	if err != nil {
		return false
	}
	defer r.Close()
	for r.Next() {
	}
	return r.Err() == nil
}
