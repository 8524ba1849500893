package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"testing"
)

var chunkedBodies = []struct {
	name, in, want string
	err            error // at the end
}{
	{"empty", "0\r\n\r\n", "", io.EOF},
	{"one", "3\r\nabc\r\n0\r\n\r\n", "abc", io.EOF},
	{"several", "3\r\nabc\r\n00A\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", "abc0123456789x", io.EOF},
	{"lower and upper case", "a\r\n0123456789\r\nB\r\n01234567890\r\n0\r\n\r\n", "012345678901234567890", io.EOF},
	{"extension", "3;a=\"b\"\r\nabc\r\n0;x\r\n\r\n", "abc", io.EOF},
	{"trailers", "3\r\nabc\r\n0\r\nA: b\r\nC: d\r\n\r\n", "abc", io.EOF},
	{"LF alone", "3\nabc\n0\n\n", "abc", io.EOF},
	{"more after the end", "1\r\na\r\n0\r\n\r\nHTTP/1.1", "a", io.EOF},
	{"cut in data", "5\r\nabc", "abc", io.ErrUnexpectedEOF},
	{"cut before the end", "3\r\nabc\r\n", "abc", io.ErrUnexpectedEOF},
	{"cut in the last chunk", "3\r\nabc\r\n0\r\n", "abc", io.ErrUnexpectedEOF},
	{"no size", "\r\nabc", "", errChunk},
	{"not a number", "xyz\r\nabc", "", errChunk},
	{"too large", "fffffffffffffffff\r\nabc", "", errChunk},
	{"no line end after data", "3\r\nabcd\r\n0\r\n\r\n", "abc", errChunk},
}

func TestBodyChunked(t *testing.T) {
	for _, tt := range chunkedBodies {
		for size := 1; size <= len(tt.in); size++ {
			got, err := readBody(&http.Response{TransferEncoding: []string{"chunked"}, ContentLength: -1}, []byte(tt.in), func() int { return size })
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%s, reads of %d: %q, %v, want %q, %v", tt.name, size, got, err, tt.want, tt.err)
			}
		}
	}
}

func TestBodyLength(t *testing.T) {
	for _, tt := range []struct {
		in     string
		length int64
		want   string
		err    error
	}{
		{"abcdef", 6, "abcdef", io.EOF},
		{"abcdef", 3, "abc", io.EOF},
		{"abc", 0, "", io.EOF},
		{"abc", 5, "abc", io.ErrUnexpectedEOF},
		{"", 5, "", io.ErrUnexpectedEOF},
		{"abc", -1, "abc", io.EOF},
		{"", -1, "", io.EOF},
	} {
		for size := 1; size <= len(tt.in)+1; size++ {
			got, err := readBody(&http.Response{ContentLength: tt.length}, []byte(tt.in), func() int { return size })
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q of length %d, reads of %d: %q, %v, want %q, %v", tt.in, tt.length, size, got, err, tt.want, tt.err)
			}
		}
	}
}

// What lies after the body stays for the next answer.
func TestBodyLeavesRest(t *testing.T) {
	for _, resp := range []*http.Response{{TransferEncoding: []string{"chunked"}, ContentLength: -1}, {ContentLength: 15}} {
		br := bufio.NewReader(bytes.NewReader([]byte("5\r\nabcde\r\n0\r\n\r\nrest")))
		var b body
		b.reset(br, resp)
		for {
			if _, err := b.next(); err != nil {
				break
			}
		}
		if got, err := io.ReadAll(br); string(got) != "rest" || err != nil {
			t.Errorf("after a body of %+v: %q, %v, want %q", resp, got, err, "rest")
		}
	}
}

// A piece of a chunk must be there before the rest of the chunk is, which is
// where the body of net/http waits.
func TestBodyPrompt(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	got := make(chan string)
	go func() {
		defer close(got)
		var b body
		b.reset(bufio.NewReader(client), &http.Response{TransferEncoding: []string{"chunked"}, ContentLength: -1})
		for {
			p, err := b.next()
			if err != nil {
				return
			}
			got <- string(p)
		}
	}()
	for _, piece := range []struct{ in, want string }{
		{"14\r\ndata: a\n\n", "data: a\n\n"}, // 9 of 20 bytes
		{"data: b\n\n", "data: b\n\n"},       // 18
		{"xx\r\n3\r\nyyy\r\n5", "xx"},
		{"", "yyy"},
		{"\r\n", ""}, // the size is complete, no data yet
		{"z", "z"},
	} {
		if piece.in != "" {
			if _, err := io.WriteString(server, piece.in); err != nil {
				t.Fatal(err)
			}
		}
		if piece.want == "" {
			continue
		}
		if g := <-got; g != piece.want {
			t.Fatalf("after %q: %q, want %q", piece.in, g, piece.want)
		}
	}
	server.Close()
	if g, ok := <-got; ok {
		t.Errorf("after the end: %q", g)
	}
}

func TestDechunkerBounded(t *testing.T) {
	for _, in := range []string{"1;", "0\r\nA: "} { // endless extension, endless trailer
		var d dechunker
		p := append([]byte(in), bytes.Repeat([]byte("x"), maxChunkExtra+10)...)
		if _, _, err := d.next(p); !errors.Is(err, errChunk) {
			t.Errorf("%q and so on without end: %v, want %v", in, err, errChunk)
		}
	}
}

// The dechunker agrees with net/http's on what is well-formed, however it is
// read.
func FuzzDechunker(f *testing.F) {
	for _, tt := range chunkedBodies {
		f.Add([]byte(tt.in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		resp := &http.Response{TransferEncoding: []string{"chunked"}, ContentLength: -1}
		whole, wholeErr := readBody(resp, in, func() int { return len(in) })
		got, err := readBody(resp, in, func() int { return 1 + rng.IntN(5) })
		if !bytes.Equal(got, whole) || !errors.Is(err, wholeErr) {
			t.Fatalf("in pieces %q, %v; whole %q, %v", got, err, whole, wholeErr)
		}
		want, wantErr := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(in)))
		if wantErr == nil && (!bytes.HasPrefix(whole, want) || len(whole) != len(want)) {
			t.Fatalf("%q, %v; net/http reads %q", whole, wholeErr, want)
		}
	})
}

// readBody reads a body through reads of the sizes that size gives.
func readBody(resp *http.Response, in []byte, size func() int) ([]byte, error) {
	var b body
	b.reset(bufio.NewReader(&chopped{in, size}), resp)
	var all []byte
	for {
		p, err := b.next()
		if err != nil {
			return all, err
		}
		all = append(all, p...)
	}
}

type chopped struct {
	in   []byte
	size func() int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(c.size(), len(c.in))])
	c.in = c.in[n:]
	return n, nil
}
