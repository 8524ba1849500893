package printer

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

// A heldWriter blocks every Write until open is closed, and keeps nothing of what is written.
type heldWriter struct{ open chan struct{} }

func (w *heldWriter) Write(b []byte) (int, error) {
	<-w.open
	return len(b), nil
}

// Texts come in their order; of several drawn texts that wait, the last one stays. The
// next text, on either stream, comes after what erases the drawn one.
func TestPrinterOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{open: make(chan struct{})}
		p := New(w, w)
		io.WriteString(p.Out, "1 ")
		synctest.Wait() // it is being written: nothing replaces it
		for _, line := range []string{"a ", "b ", "c "} {
			p.Err.Redraw(line, "<")
		}
		io.WriteString(p.Out, "2 ")
		for _, line := range []string{"d ", "e "} {
			p.Err.Redraw(line, "<<")
		}
		close(w.open)
		synctest.Wait()
		p.Err.Redraw("f ", "<<<")
		synctest.Wait()
		p.Err.Redraw("", "")
		synctest.Wait()
		p.Err.Redraw("", "") // there is nothing to erase
		io.WriteString(p.Err, "3 ")
		if whole, err := p.Close(); !whole || err != nil {
			t.Errorf("close = %v, %v", whole, err)
		}
		if got, want := w.String(), "1 c <2 e <<f <<<3 "; got != want {
			t.Errorf("written %q, want %q", got, want)
		}
	})
}

// A stream does not erase the text of a stream of another file.
func TestRedrawTwoFiles(t *testing.T) {
	var stdout, stderr bytes.Buffer
	p := New(&stdout, &stderr)
	p.Err.Redraw("line", "<")
	io.WriteString(p.Out, "report")
	io.WriteString(p.Err, "warning")
	p.Close()
	if stdout.String() != "report" || stderr.String() != "line<warning" {
		t.Errorf("written %q and %q", stdout.String(), stderr.String())
	}
}

// A stream that takes nothing delays neither the writers, nor the other stream, nor
// after a signal the end.
func TestPrinterStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck, out := &stuckWriter{open: make(chan struct{})}, &bytes.Buffer{}
		p := New(out, stuck)
		for range 1000 {
			io.WriteString(p.Err, "progress\n")
			io.WriteString(p.Out, "report\n")
		}
		ended := make(chan bool, 1)
		go func() {
			whole, _ := p.Close()
			ended <- whole
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("close gave up text though there was no signal")
		default:
		}
		p.Hurry()
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
		w := &heldWriter{open: make(chan struct{})}
		p := New(w, w)
		block := make([]byte, maxQueuedBytes/4)
		written := make(chan error, 1)
		go func() {
			for {
				if _, err := p.Out.Write(block); err != nil {
					written <- err
					return
				}
			}
		}()
		synctest.Wait()
		if waiting := p.queues[0].bytes; waiting > maxQueuedBytes+len(block) {
			t.Errorf("%d bytes wait", waiting)
		}
		select {
		case err := <-written:
			t.Errorf("Write returned %v before the signal", err)
		default:
		}
		p.Hurry()
		if err := <-written; !errors.Is(err, errNotRead) {
			t.Errorf("error %v, want %v", err, errNotRead)
		}
		close(w.open)
		p.Close()
	})
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// The first error of standard output ends bulk output, and is printed at the end.
func TestPrinterBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no space")
		var stderr bytes.Buffer
		p := New(brokenWriter{full}, &stderr)
		io.WriteString(p.Out, "1")
		synctest.Wait()
		if _, err := io.WriteString(p.Out, "2"); !errors.Is(err, full) {
			t.Errorf("second write: %v, want %v", err, full)
		}
		whole, err := p.Close()
		if !whole || !errors.Is(err, full) || stderr.String() != "pa-record: standard output: no space\n" {
			t.Errorf("close = %v, %v; printed %q", whole, err, stderr.String())
		}
	})
}
