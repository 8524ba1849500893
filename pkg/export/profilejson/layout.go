package profilejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// The members of a header are before and after the requests. To read the header first
// without parsing the file twice, this file looks for the end of the last requests, which is
// near the end of the file. If the document has one experiment, as most have, they are the
// only requests, and the header parser jumps over them. Whether it has one, either a search
// for the name of a second array tells (onlyRequests), or the requests themselves: they end
// elsewhere if there are more (Reader.Begin). If the rest of the document does not look
// like a recorder's, the header parser skips through the whole file (Cursor.Skip), which
// is slower and always right.

// maxTail bounds the last bytes of a document that are searched for the end of the
// requests.
const maxTail = 16 << 20

// lastRequestsEnd returns the offset after the ']' of what seems to be the last requests array
// of the document; 0 if there seems to be none. The header parser checks what follows, and the
// Reader of the requests that they end there.
func lastRequestsEnd(c *jsonscan.Cursor) (int64, error) {
	for n := int64(64 << 10); ; n *= 8 {
		n = min(n, c.Size, maxTail)
		tail := make([]byte, n)
		got, err := c.Src.ReadAt(tail, c.Size-n)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read %s at byte %d: %w", c.Name, c.Size-n, err)
		}
		if int64(got) < n {
			return 0, nil
		}
		if i, found := findRequestsEnd(tail); found {
			return c.Size - n + int64(i) + 1, nil
		}
		if n == c.Size || n == maxTail {
			return 0, nil
		}
	}
}

var requestsName = []byte(`"requests"`)

// onlyRequests returns the offset of the string "requests" if it is in the file exactly
// once, else -1. Within another string the same bytes have a backslash before the first
// quote, so that no string has to be scanned to tell. onlyRequests also returns -1 when
// the file has an escape of a lower-case letter, because the name can then be written in
// other ways. Both have a u, which is rare, so onlyRequests searches for that, on all cores.
func onlyRequests(c *jsonscan.Cursor) (int64, error) {
	parts := make([]namePart, max(1, min(int64(runtime.GOMAXPROCS(0)), c.Size/leastPart)))
	var stop atomic.Bool // the answer is -1
	var scanning sync.WaitGroup
	for i := range parts {
		p := &parts[i]
		p.found, p.from, p.to = -1, c.Size/int64(len(parts))*int64(i), c.Size
		if i > 0 {
			parts[i-1].to = p.from
		}
	}
	for i := range parts {
		scanning.Go(func() { parts[i].scan(c, &stop) })
	}
	scanning.Wait()
	found := int64(-1)
	for _, p := range parts {
		switch {
		case p.err != nil:
			return -1, p.err
		case p.unclear || p.found >= 0 && found >= 0:
			return -1, nil
		case p.found >= 0:
			found = p.found
		}
	}
	return found, nil
}

const (
	leastPart = 4 << 20   // bytes of a part that is worth a goroutine
	scanBytes = 256 << 10 // of a piece, which fits the processor's cache
)

// A namePart is a part of a file in which onlyRequests looks for the name. A name belongs to
// the part with its last byte.
type namePart struct {
	from, to int64
	found    int64 // offset of the name; -1: it is not there
	unclear  bool  // the name is there twice, or may be written with escapes
	err      error
}

// scan looks through the part, until stop is set.
func (p *namePart) scan(c *jsonscan.Cursor, stop *atomic.Bool) {
	const u = 4            // requestsName[u] == 'u'
	const overlap = u + 10 // a byte before the name and the name; more than an escape
	off := max(0, p.from-overlap)
	buf := make([]byte, min(scanBytes, p.to-off+overlap))
	for kept := 0; off < p.to && !stop.Load(); {
		if c.Check != nil {
			if p.err = c.Check(); p.err != nil {
				return
			}
		}
		n, err := c.Src.ReadAt(buf[kept:kept+int(min(int64(len(buf)-kept), p.to-off))], off)
		if err != nil && !errors.Is(err, io.EOF) {
			p.err = fmt.Errorf("read %s at byte %d: %w", c.Name, off, err)
			return
		}
		if n == 0 {
			p.unclear = true
		}
		off += int64(n)
		b := buf[:kept+n]
		// A name counts in the piece in which its last byte is new.
		for i := max(u, kept-len(requestsName)+1+u); i < len(b) && !p.unclear; i++ {
			k := bytes.IndexByte(b[i:], 'u')
			if k < 0 {
				break
			}
			i += k
			for b[i-1] == '\\' { // often more escapes follow: \u0000\u0000
				p.unclear = p.unclear || escapesLetter(b[i:])
				if i+6 >= len(b) || b[i+6] != 'u' || b[i+5] != '\\' {
					break
				}
				i += 6
			}
			if b[i-1] != 'q' {
				continue
			}
			start := i - u
			if !bytes.HasPrefix(b[start:], requestsName) || start > 0 && b[start-1] == '\\' {
				continue
			}
			at := off - int64(len(b)) + int64(start)
			if at+int64(len(requestsName)) <= p.from {
				continue
			}
			p.unclear = p.unclear || p.found >= 0
			p.found = at
		}
		if p.unclear {
			stop.Store(true)
		}
		kept = copy(buf, b[max(0, len(b)-overlap):])
	}
}

// escapesLetter reports whether b, the bytes after the backslash of an escape, escapes a
// letter from a to z or one of its neighbours. An escape at the end of a piece is
// checked again in the next piece.
func escapesLetter(b []byte) bool {
	return len(b) >= 4 && b[1] == '0' && b[2] == '0' && b[3]|1 == '7'
}

// findRequestsEnd goes backwards through the end of a document to the ']' of an array of
// objects directly in an experiment, whose last object looks like a request. Outside of
// strings, JSON can be read backwards too: a quote there ends a string, which begins at
// the next quote with an even number of backslashes before it.
func findRequestsEnd(b []byte) (int, bool) {
	depth := 0
	array := uint64(0) // bit d: container d is an array
	for i := len(b); i > 0; {
		i--
		switch b[i] {
		case '"':
			if i = stringStart(b, i); i < 0 {
				return 0, false
			}
		case '}', ']':
			if depth++; depth > 60 {
				return 0, false
			}
			array &^= 1 << depth
			if b[i] == ']' {
				array |= 1 << depth
			}
			// {"experiments":[{"requests":[
			if depth == 4 && array == 1<<2|1<<4 {
				if last := lastByte(b[:i]); last == '}' {
					return i, endsInRequest(b[:i])
				}
			}
		case '{', '[':
			array &^= 1 << depth
			if depth--; depth <= 0 {
				return 0, false
			}
		}
	}
	return 0, false
}

// lastByte returns the last byte of b that is no white space.
func lastByte(b []byte) byte {
	b = bytes.TrimRight(b, " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1]
}

// endsInRequest reports whether b ends in an object that has the two members
// that a request has in every release.
func endsInRequest(b []byte) bool {
	depth := 0
	timestamp, responses := false, false
	for i := len(b); i > 0; {
		i--
		switch b[i] {
		case '"':
			end := i + 1
			if i = stringStart(b, i); i < 0 {
				return false
			}
			if depth == 1 {
				timestamp = timestamp || string(b[i:end]) == `"timestamp"`
				responses = responses || string(b[i:end]) == `"response_timestamps"`
			}
		case '}', ']':
			depth++
		case '{', '[':
			if depth--; depth <= 0 {
				return timestamp && responses
			}
		}
	}
	return false
}

// stringStart returns the position of the opening quote of the string whose
// closing quote is b[i], or -1.
func stringStart(b []byte, i int) int {
	for i > 0 {
		if i = bytes.LastIndexByte(b[:i], '"'); i < 0 {
			return -1
		}
		n := 0
		for i-n > 0 && b[i-n-1] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i
		}
	}
	return -1
}
