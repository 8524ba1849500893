package dataset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// lines is a JSON Lines file: a JSON object on each line that is not blank.
type lines struct {
	src *source
	at  []int64 // offset of each row, and the end of the last one
}

// openLines indexes the rows of src.
func openLines(ctx context.Context, src *source) (*lines, error) {
	l := &lines{src: src}
	r, h := src.scan()
	off := skipMark(r)
	for {
		n, blank, err := lineLength(r)
		if !blank {
			l.at = append(l.at, off)
		}
		off += n
		switch {
		case errors.Is(err, io.EOF):
			l.at = append(l.at, off) // the end of the last row
			return l, src.finishHash(r, h)
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", src.name, err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// lineLength skips one line and returns its length, including its end.
func lineLength(r *bufio.Reader) (n int64, blank bool, err error) {
	blank = true
	for {
		b, err := r.ReadSlice('\n')
		n += int64(len(b))
		blank = blank && len(bytes.TrimSpace(b)) == 0
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, blank, err
		}
	}
}

func (l *lines) len() int { return len(l.at) - 1 }

func (l *lines) row(i int) (*row, error) {
	text, err := l.src.read(l.at[i], l.at[i+1]) // with the blank lines after it
	if err != nil {
		return nil, err
	}
	return parseObject(bytes.TrimSpace(text))
}

func (l *lines) fault(i int, err error) error {
	return &Error{Name: l.src.name, Kind: byLine, Line: l.src.lineAt(l.at[i]), Err: err}
}
