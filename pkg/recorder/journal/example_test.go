package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// TestMain makes the process that Example starts record and not test.
func TestMain(m *testing.M) {
	if path := os.Getenv("RECORD_TO"); path != "" {
		fmt.Println(record(path))
		time.Sleep(time.Hour) // until it is killed
	}
	goleak.VerifyTestMain(m)
}

// record takes three requests into the journal of an export, and does not end the run.
func record(path string) error {
	file, err := journal.NewExport(path, false)
	if err != nil {
		return err
	}
	w, err := journal.NewWriter(journal.Config{Exports: []*journal.Export{file}})
	if err != nil {
		return err
	}
	if err := w.Open(context.Background(), &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}); err != nil {
		return err
	}
	err = w.BeginExperiment(export.ModeConcurrency, "1")
	for n := range uint64(3) { // recorder.Run does this with what a server answers
		err = errors.Join(err, w.WriteRequest(&export.Request{StartNS: 100 * n, Responses: []export.Response{{RecvNS: 100*n + 40 + n}}}))
	}
	err = errors.Join(err, w.Flush())
	for waiting, _ := w.Backlog(); err == nil && waiting > 0; waiting, _ = w.Backlog() {
		time.Sleep(time.Millisecond) // a kill loses what is not in the file yet
	}
	return err
}

// A process that records is killed. Another one recovers its requests and reads them.
func Example() {
	path, cleanUp := recordAndKill()
	defer cleanUp()
	ctx := context.Background()
	file, err := journal.NewExport(path, false)
	if err != nil {
		log.Panic(err)
	}
	rec, err := journal.Recover(ctx, journal.PathFor(path), []*journal.Export{file})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(rec.Requests, "requests, killed:", rec.Killed)
	r, err := (&export.Opener{Formats: formats.Readers()}).Open(ctx, path)
	if err != nil {
		log.Panic(err)
	}
	for r.Next() {
		q := r.Request()
		fmt.Println("TTFT", q.Responses[0].RecvNS-q.StartNS, "ns")
	}
	fmt.Println("interrupted:", r.Run().Meta.Interrupted, r.Close())
	// Output:
	// 3 requests, killed: true
	// TTFT 40 ns
	// TTFT 41 ns
	// TTFT 42 ns
	// interrupted: killed <nil>
}

// recordAndKill starts this program again, which calls record, and kills it when record
// has returned.
func recordAndKill() (path string, cleanUp func()) {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		log.Panic(err)
	}
	path = filepath.Join(dir, "run.json")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "RECORD_TO="+path)
	said, err := child.StdoutPipe()
	if err != nil {
		log.Panic(err)
	}
	if err := child.Start(); err != nil {
		log.Panic(err)
	}
	late := time.AfterFunc(time.Minute, func() { _ = child.Process.Kill() })
	defer late.Stop()
	line, _ := bufio.NewReader(said).ReadString('\n')
	_ = child.Process.Kill()
	_ = child.Wait() // says that it was killed
	if line != "<nil>\n" {
		log.Panic("record: ", line)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}
