package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// compressed returns head and then n times part, as zstd.
func compressed(t *testing.T, head, part string, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	block := []byte(strings.Repeat(part, 1<<10))
	_, err = io.WriteString(z, head)
	for range n >> 10 {
		if err == nil {
			_, err = z.Write(block)
		}
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A file that becomes more than a thousand times as large is refused soon after
// the first 64 MiB, whatever it holds, unless the ratio may be larger.
func TestRatio(t *testing.T) {
	const mib = 1 << 20
	const size = 68 * mib
	large := compressed(t, `{"experiments":[`, `{"timestamp":1,"response_timestamps":[2,3]},    `, size/48)
	if ratio := size / len(large); ratio < 2*DefaultMaxRatio {
		t.Fatalf("the test's file has a ratio of %d only", ratio)
	}
	s, err := Copy(t.Context(), "run.json.zst", bytes.NewReader(large), Config{Dir: t.TempDir()})
	var limit *LimitError
	if !errors.As(err, &limit) || s != nil || limit.Ratio < DefaultMaxRatio || !strings.Contains(err.Error(), "run.json.zst: decompresses to more than 1000 times its size") || !strings.Contains(err.Error(), "--max-ratio") {
		t.Fatalf("%v, %v", s, err)
	}
	small := compressed(t, `{"experiments":[`, `{"timestamp":1,"response_timestamps":[2,3]},    `, 60*mib/testenv.Stride(8)/48)
	for name, tt := range map[string]struct {
		data []byte
		c    Config
	}{
		"the first 64 MiB may have any ratio": {small, Config{}},
		"a larger ratio":                      {large, Config{MaxRatio: 1_000_000}},
		"any ratio":                           {large, Config{MaxRatio: -1}},
	} {
		tt.c.Dir = t.TempDir()
		s, err := Copy(t.Context(), "run.json.zst", bytes.NewReader(tt.data), tt.c)
		if err != nil || s.Err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Blanks between tokens are no content: of megabytes of blanks, only the first kilobyte is kept.
func TestBlanks(t *testing.T) {
	blanks := compressed(t, ` {"a" :  [`, " \n\t\r", 60<<20/4/testenv.Stride(4))
	s, err := Copy(t.Context(), "b", bytes.NewReader(append(blanks, compressed(t, `"x`, "    ", 1<<10)...)), Config{Dir: t.TempDir(), CutBlanks: true, MaxRatio: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Ten bytes, the first kilobyte of blanks, a quote, x, and the blanks of the string.
	if want := int64(10 + maxBlanks + 2 + 4<<10); s.Size != want {
		t.Errorf("%d bytes are kept, want %d", s.Size, want)
	}
}

// The limit is half of the free space, or 64 GiB, or what was asked for; the error
// says which, and what raises it.
func TestMaxBytes(t *testing.T) {
	_, err := Copy(t.Context(), "in", strings.NewReader(strings.Repeat("x", 1000)), Config{Dir: t.TempDir(), MaxBytes: 999})
	if want := "in: holds more than 999 bytes of content; decompress it to a file and give that, or raise --max-spool"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	dir := t.TempDir()
	most, why := Config{Dir: dir}.maxBytes()
	space, ok := disk.FreeSpace(dir)
	if most <= 0 || most > defaultMaxBytes || ok && space.Free > 4*defaultMaxBytes && most != defaultMaxBytes || most != defaultMaxBytes && why != "half of the free space in "+dir {
		t.Errorf("%d bytes (%s) with %d free", most, why, space.Free)
	}
}

// Content that begins like no format is refused before all of it is read.
func TestCheck(t *testing.T) {
	refused := errors.New("is no export")
	read := 0
	endless := readerFunc(func(b []byte) (int, error) {
		read += len(b)
		clear(b)
		return len(b), nil
	})
	_, err := Copy(t.Context(), "/dev/zero", endless, Config{Dir: t.TempDir(), CheckBytes: 4 << 10, Check: func(head []byte) error {
		if len(head) != 4<<10 {
			t.Errorf("checked with %d bytes", len(head))
		}
		return refused
	}})
	if !errors.Is(err, refused) || read > 10<<20 {
		t.Errorf("%v after %d bytes", err, read)
	}
	s, err := Copy(t.Context(), "short", strings.NewReader("short"), Config{Dir: t.TempDir(), CheckBytes: 4 << 10, Check: func([]byte) error { return refused }})
	if err != nil { // the caller has all of it
		t.Fatal(err)
	}
	_ = s.Close()
}

type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// The end of the context ends the wait for a stream that nobody writes to.
func TestInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close() // ends the goroutine that waits
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("ended by interrupt")
	go func() {
		_, _ = io.WriteString(w, `{"experiments":[`)
		cancel(why)
	}()
	if s, err := Copy(ctx, "stdin", r, Config{Dir: t.TempDir()}); !errors.Is(err, why) {
		t.Errorf("%v, %v, want %v", s, err, why)
	}
}

// cutInPieces cuts blanks of text that comes in pieces of a size.
func cutInPieces(text string, size int) string {
	var k blankCutter
	var out []byte
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		out = append(out, k.cut(bytes.Clone(rest[:n]))...)
		rest = rest[n:]
	}
	return string(out)
}

func TestCut(t *testing.T) {
	long := strings.Repeat(" \n", maxBlanks)
	kept := long[:maxBlanks]
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"short runs stay", "{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"},
		{"long runs are cut", `{"a"` + long + ":1}" + long, `{"a"` + kept + ":1}" + kept},
		{"before the first tokens they stay", long + "{" + long + `"a"` + long, long + "{" + long + `"a"` + kept},
		{"an array of arrays", "[[" + long + "1]]", "[[" + kept + "1]]"},
		{"a byte order mark", "\uFEFF{ \"a\"" + long, "\uFEFF{ \"a\"" + kept},
		{"in strings they stay", `{"a":"` + long + `"}`, `{"a":"` + long + `"}`},
		{"an escaped quote does not end a string", `["\"` + long + `\\"` + long + `]`, `["\"` + long + `\\"` + kept + `]`},
		{"what is no JSON stays", "PAR1" + long + "x", "PAR1" + long + "x"},
		{"a prompt in brackets stays", "[INST] \"a\"" + long + "x", "[INST] \"a\"" + long + "x"},
		{"a prompt in braces stays", "{name}:" + long + "x", "{name}:" + long + "x"},
		{"an indented prompt stays", long + "x" + long + "y", long + "x" + long + "y"},
	} {
		for _, size := range []int{1, 2, 3, 1000, 1 << 20} {
			if got := cutInPieces(tt.in, size); got != tt.want {
				t.Errorf("%s, in pieces of %d: %d bytes, want %d", tt.name, size, len(got), len(tt.want))
			}
		}
	}
}

// Cutting blanks changes no value, and does not depend on the pieces.
func FuzzCut(f *testing.F) {
	f.Add(`{"a":["b\"  ",1,  null]}`, 2)
	f.Add("[\"\\\\\"   ]\n", 1)
	f.Add("\uFEFF [INST]  x", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		text = strings.ReplaceAll(text, "  ", strings.Repeat(" ", maxBlanks))
		whole := cutInPieces(text, len(text)+1)
		if is, known := BeginsJSON([]byte(text)); known && !is && whole != text {
			t.Fatalf("no JSON: %q became %q", text, whole)
		}
		if got := cutInPieces(text, min(max(size, 1), 1<<16)); got != whole {
			t.Fatalf("in pieces %q, whole %q", got, whole)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal([]byte(whole), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%v: %v became %v", err, before, after)
		}
	})
}
