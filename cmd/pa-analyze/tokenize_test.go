package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pa-tools/pa/pkg/tokenizer/builtin"
)

func TestCopy(t *testing.T) {
	tok, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	hello := len(tok.Encode("hello"))
	for _, tt := range []struct {
		name     string
		c        tokenCounter
		in       string
		out, err string
	}{
		{"edge: empty", tokenCounter{}, "", "", ""},
		{"edge: an empty line", tokenCounter{}, "\n\nhello\n", "0\n0\n" + strconv.Itoa(hello) + "\n", ""},
		{"no line end at the end", tokenCounter{}, "hello", strconv.Itoa(hello) + "\n", ""},
		{"JSON strings", tokenCounter{jsonl: true}, "\"hello\"\n \"hel\\u006co\" \n", strings.Repeat(strconv.Itoa(hello)+"\n", 2), ""},
		{"no JSON string", tokenCounter{jsonl: true}, "\"hello\"\nhello\n", strconv.Itoa(hello) + "\n", "line 2: no JSON string"},
		{"as long as allowed", tokenCounter{maxLine: 5}, "hello\nhello", strings.Repeat(strconv.Itoa(hello)+"\n", 2), ""},
		{"longer than allowed", tokenCounter{maxLine: 5}, "hello\nhellos\n", strconv.Itoa(hello) + "\n", "line 2: longer than 5 bytes"},
		{"longer than the buffer", tokenCounter{}, strings.Repeat("x", 5000) + "\n", strconv.Itoa(tok.Count(strings.Repeat("x", 5000))) + "\n", ""},
		{"ids of nothing", tokenCounter{ids: true}, "\n", "[]\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.c.tokenizer = tok
			if tt.c.maxLine == 0 {
				tt.c.maxLine = 1 << 20
			}
			var b bytes.Buffer
			out := bufio.NewWriter(&b)
			err := tt.c.copy(t.Context(), bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(tt.in)), 16), out)
			if ferr := out.Flush(); ferr != nil {
				t.Fatal(ferr)
			}
			if b.String() != tt.out || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("wrote %q, error %v; want %q and %q", b.String(), err, tt.out, tt.err)
			}
		})
	}
}

// Copy writes the ids that the tokenizer gives, with its special tokens on request.
func TestCopyIDs(t *testing.T) {
	tok, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, special := range []bool{false, true} {
		ids := tok.Encode("hello world")
		if special {
			ids = tok.AddSpecial(ids)
		}
		var want []string
		for _, id := range ids {
			want = append(want, strconv.Itoa(int(id)))
		}
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		c := tokenCounter{tokenizer: tok, ids: true, special: special, maxLine: 100}
		if err := errors.Join(c.copy(t.Context(), bufio.NewReader(strings.NewReader("hello world\n")), out), out.Flush()); err != nil {
			t.Fatal(err)
		}
		if got := "[" + strings.Join(want, ", ") + "]\n"; b.String() != got {
			t.Errorf("special %v: wrote %q, want %q", special, b.String(), got)
		}
	}
}

// The reader's error names the line, and the end of the context ends the work.
func TestCopyErrors(t *testing.T) {
	tok, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := tokenCounter{tokenizer: tok, maxLine: 100}
	failing := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("no disk")))
	if err := c.copy(t.Context(), bufio.NewReader(failing), bufio.NewWriter(io.Discard)); err == nil || err.Error() != "line 2: no disk" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.copy(ctx, bufio.NewReader(strings.NewReader("a\n")), bufio.NewWriter(io.Discard)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
