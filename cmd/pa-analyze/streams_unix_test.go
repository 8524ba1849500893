//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
)

const streamedExport = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1000,"response_timestamps":[2000]}],"window_boundaries":[0,9000]}],"version":"1"}`

// The first interrupt ends a command that waits for its input: for the writer of a
// named pipe, or for one that says nothing.
func TestInterruptedInput(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "q.fifo")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"report", "requests", "validate", "tokenize", "definitions"} {
		for _, input := range []string{pipe, "-"} {
			t.Run(command+" "+filepath.Base(input), func(t *testing.T) {
				stdin, w := io.Pipe()
				defer w.Close() // ends the goroutine that waits
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				ended := make(chan int, 1)
				var stdout, stderr bytes.Buffer
				go func() {
					ended <- run(ctx, []string{"pa-analyze", command, input}, stdin, &stdout, &stderr)
				}()
				time.AfterFunc(20*time.Millisecond, func() { cancel(cmdline.SignalError{Signal: os.Interrupt}) })
				select {
				case code := <-ended:
					if code != 130 {
						t.Errorf("exit code %d: %s", code, stderr.String())
					}
				case <-time.After(20 * time.Second):
					t.Error("the interrupt does not end it")
				}
			})
		}
	}
}

// A named pipe is read as a stream, and a device is refused.
func TestStreams(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "q.fifo")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			_, err = io.WriteString(w, streamedExport)
			err = errors.Join(err, w.Close())
		}
		written <- err
	}()
	if got := exec(t, "", "report", pipe); got.code != 0 || !strings.Contains(got.stdout, "concurrency 1: 1 request ok") {
		t.Errorf("exit code %d, %s%s", got.code, got.stdout, got.stderr)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{
		{"report", "/dev/zero"},
		{"report", "--config", "/dev/zero", "x.json"},
		{"report", "--config", pipe, "x.json"},
		{"tokenize", "--tokenizer", pipe},
		{"tokenize", "--tokenizer", "/dev/zero"},
		{"tokenize", "/dev/zero"},
	} {
		got := exec(t, "", args...)
		if got.code == 0 || !strings.Contains(got.stderr, "expected a regular file") {
			t.Errorf("%q: exit code %d, %s", args, got.code, got.stderr)
		}
	}
}

// Endless zeros on standard input are refused at once.
func TestEndlessInput(t *testing.T) {
	zeros, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zeros.Close()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"pa-analyze", "report", "-"}, zeros, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "stdin: not an export") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}
