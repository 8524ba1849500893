package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/pkg/tokenizer"
)

// tokenizeCommand returns the command tokenize.
func tokenizeCommand() *cli.Command {
	var reading tokenizer.Reading
	var t tokenCounter
	parseReading := func(text string) (tokenizer.Reading, error) {
		reading, err := tokenizer.ParseReading(text)
		if err != nil {
			err = cmdline.Usagef("--as: %v", err)
		}
		return reading, err
	}
	flags := []cli.Flag{
		tokenizerFlag(),
		parsed(&reading, parseReading, &cli.StringFlag{Name: "as", Usage: "read the tokenizer's files as `LIBRARY` does: transformers-4 (also the tokenizers library) or transformers-5", Value: tokenizer.Transformers4.String(), Category: catCounting}),
		&cli.BoolFlag{Name: "ids", Usage: "print the ids as a JSON array, not their number", Category: catOutput, Destination: &t.ids},
		&cli.BoolFlag{Name: "special", Usage: "count the special tokens too that the model expects around a text", Category: catCounting, Destination: &t.special},
		&cli.BoolFlag{Name: "jsonl", Usage: "each line is a text as a JSON string, which may hold line ends", Category: catInput, Destination: &t.jsonl},
	}
	return &cli.Command{
		Name: "tokenize", Usage: "count the tokens of texts, as Hugging Face does", ArgsUsage: "[FILE]",
		Description: `Reads a text from each line of the file, or of standard input, and prints a
line for each: the number of its tokens, or the ids, as the Hugging Face library
counts them. Special tokens in a text are recognized; only --special
adds some. Bytes that are not UTF-8 count as U+FFFD.

A model's name is looked up in the Hugging Face cache, then on the hub; HF_HOME,
HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE mean what they mean
there. Without --tokenizer it is the built-in one, which is no model's.
transformers 5 reads some tokenizers, such as LLaMA 2's, by rules of its own:
see --as.`,
		Flags: slices.Concat(flags, outputFlags(), inputFlags()),
		Action: action(textFile, func(c *call, name string) (err error) {
			t.maxLine = c.Int64("max-value")
			if t.tokenizer, err = c.openTokenizer(c.tokenizerName(), reading); err != nil {
				return err
			}
			return c.tokenize(name, &t)
		}),
	}
}

// textFile returns the file that the argument names, or "-" for standard input.
func textFile(c *call) (string, error) {
	if c.NArg() == 0 {
		return "-", nil
	}
	c.reads(c.Args().Slice())
	return c.Args().First(), refuse(c.NArg() > 1, "%d files given; %s takes one", c.NArg(), c.App.Name)
}

// tokenize counts the tokens of the lines of a file.
func (c *call) tokenize(name string, t *tokenCounter) error {
	in := c.App.Reader
	if name != "-" {
		f, err := disk.OpenStream(c.Context, name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	return c.writeRequests(func(w io.Writer) error {
		out := bufio.NewWriterSize(w, 1<<16)
		err := t.copy(c.Context, bufio.NewReaderSize(disk.Interruptible(c.Context, in), 1<<18), out)
		return errors.Join(named(name, err), out.Flush())
	})
}

// A tokenCounter writes a line for each line of a text.
type tokenCounter struct {
	tokenizer *tokenizer.Tokenizer
	ids       bool  // write the ids as a JSON array, not their number
	special   bool  // count the special tokens around a text, too
	jsonl     bool  // each line is a JSON string
	maxLine   int64 // bytes of the longest line

	buf []uint32
}

// copy reads in to its end and writes a line to out for each of its lines. Errors name
// the line. It returns ctx's error when ctx ends.
func (t *tokenCounter) copy(ctx context.Context, in *bufio.Reader, out *bufio.Writer) error {
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		line, err := readLine(in, t.maxLine)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		text := string(line)
		if t.jsonl {
			unquoted, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(line))
			if err != nil {
				return fmt.Errorf("line %d: no JSON string (expected a text in quotation marks): %w", n, err)
			}
			text = string(unquoted)
		}
		t.buf = t.tokenizer.AppendEncode(t.buf[:0], text)
		if err := t.tokenizer.Err(); err != nil {
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
func (t *tokenCounter) line(out *bufio.Writer) error {
	ids := t.buf
	if t.special {
		ids = t.tokenizer.AddSpecial(ids)
	}
	b := out.AvailableBuffer()
	if t.ids {
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
