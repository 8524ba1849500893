package tokenlines

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/tokenizer"
)

// A Counter writes a line for each line of a text.
type Counter struct {
	Tokenizer *tokenizer.Tokenizer
	IDs       bool  // write the ids as a JSON array, not their number
	Special   bool  // count the special tokens around a text, too
	JSONL     bool  // each line is a JSON string
	MaxLine   int64 // bytes of the longest line

	buf []uint32
}

// Copy reads in to its end and writes a line to out for each of its lines. Errors name
// the line. It returns ctx's error when ctx ends.
func (t *Counter) Copy(ctx context.Context, in *bufio.Reader, out *bufio.Writer) error {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := readLine(in, t.MaxLine)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		text := string(line)
		if t.JSONL {
			unquoted, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(line))
			if err != nil {
				return fmt.Errorf("line %d: no JSON string (expected a text in quotation marks): %w", n, err)
			}
			text = string(unquoted)
		}
		t.buf = t.Tokenizer.AppendEncode(t.buf[:0], text)
		if err := t.Tokenizer.Err(); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := t.line(out); err != nil {
			return err
		}
	}
}

// readLine reads up to a line feed, which it leaves out. At the end of the input it
// returns the rest with io.EOF.
func readLine(in *bufio.Reader, limit int64) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if int64(len(line)) > limit+1 {
			return nil, fmt.Errorf("longer than %d bytes; see --max-value", limit)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(line, []byte{'\n'}), err
	}
}

// line writes the line of the text whose ids are in t.buf.
func (t *Counter) line(out *bufio.Writer) error {
	ids := t.buf
	if t.Special {
		ids = t.Tokenizer.AddSpecial(ids)
	}
	b := out.AvailableBuffer()
	if t.IDs {
		b = append(b, '[')
		for i, id := range ids {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = strconv.AppendUint(b, uint64(id), 10)
		}
		b = append(b, ']')
	} else {
		b = strconv.AppendInt(b, int64(len(ids)), 10)
	}
	_, err := out.Write(append(b, '\n'))
	return err
}
