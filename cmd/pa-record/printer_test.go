package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// A stuckWriter takes nothing until it is opened.
type stuckWriter struct {
	open chan struct{}
	bytes.Buffer
}

func (w *stuckWriter) Write(b []byte) (int, error) {
	<-w.open
	return w.Buffer.Write(b)
}

// Texts come in their order; of latest texts that wait behind each other the last
// one stays.
func TestPrinterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{open: make(chan struct{})}
		p := newPrinter(w, w)
		io.WriteString(p.out, "1 ")
		synctest.Wait() // it is being written: nothing replaces it
		for _, line := range []string{"a ", "b ", "c "} {
			p.err.WriteLatest([]byte(line))
		}
		io.WriteString(p.out, "2 ")
		for _, line := range []string{"d ", "e "} {
			p.err.WriteLatest([]byte(line))
		}
		close(w.open)
		if whole, err := p.close(); !whole || err != nil {
			t.Errorf("close = %v, %v", whole, err)
		}
		if got, want := w.String(), "1 c 2 e "; got != want {
			t.Errorf("written %q, want %q", got, want)
		}
	})
}

// A stream that takes nothing delays neither the writers, nor the other stream, nor
// after a signal the end.
func TestPrinterStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, out := &stuckWriter{open: make(chan struct{})}, &bytes.Buffer{}
		p := newPrinter(out, stuck)
		for range 1000 {
			io.WriteString(p.err, "progress\n")
			io.WriteString(p.out, "report\n")
		}
		ended := make(chan bool, 1)
		go func() {
			whole, _ := p.close()
			ended <- whole
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("close gave up text though there was no signal")
		default:
		}
		p.hurry()
		if whole := <-ended; whole {
			t.Error("close says that all was written")
		}
		if got := strings.Count(out.String(), "report\n"); got != 1000 {
			t.Errorf("%d of 1000 lines on the stream that is read", got)
		}
		close(stuck.open)
	})
}

// A full queue makes the writer wait for a slow reader, but not after a signal.
func TestPrinterFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckWriter{open: make(chan struct{})}
		p := newPrinter(stuck, stuck)
		block := make([]byte, maxQueuedBytes/4)
		written := make(chan error, 1)
		go func() {
			for {
				if _, err := p.out.Write(block); err != nil {
					written <- err
					return
				}
			}
		}()
		synctest.Wait()
		if waiting := p.queues[0].bytes; waiting > maxQueuedBytes+len(block) {
			t.Errorf("%d bytes wait", waiting)
		}
		p.hurry()
		if err := <-written; !errors.Is(err, errNotRead) {
			t.Errorf("error %v, want %v", err, errNotRead)
		}
		close(stuck.open)
		p.close()
	})
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// The first error of standard output ends bulk output, and is printed at the end.
func TestPrinterBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space")
		var stderr bytes.Buffer
		p := newPrinter(brokenWriter{full}, &stderr)
		io.WriteString(p.out, "1")
		synctest.Wait()
		if _, err := io.WriteString(p.out, "2"); !errors.Is(err, full) {
			t.Errorf("second write: %v, want %v", err, full)
		}
		whole, err := p.close()
		if !whole || !errors.Is(err, full) || stderr.String() != "pa-record: standard output: no space\n" {
			t.Errorf("close = %v, %v; printed %q", whole, err, stderr.String())
		}
	})
}
