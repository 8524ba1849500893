package http1_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/http1"
)

// An outcome is what a stream came to.
type outcome struct {
	HasHead          bool
	Status           int
	Header           http.Header
	ContentLength    int64
	TransferEncoding []string
	Close            bool
	Body             string
	Err              string
	Rest             int
	Reusable         bool
}

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// Responses, with what comes after them, and how they end. What is in their
// head and body follows from net/http.
var responses = []struct {
	name   string
	method string
	in     string
	body   string
	err    string
	rest   int
	keep   bool
}{
	{name: "length", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", body: "abc", keep: true},
	{name: "length 0", in: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", keep: true},
	{name: "more than the length", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcde", body: "abc", rest: 2},
	{name: "less than the length", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", body: "ab", err: "unexpected EOF"},
	{name: "twice the same length", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", body: "abc", keep: true},
	{name: "two lengths", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", err: "http: message cannot contain multiple Content-Length headers; got [\"3\" \"4\"]"},
	{name: "negative length", in: "HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\nabc", err: `bad Content-Length "-3"`},
	{name: "length that overflows", in: "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nabc", err: `bad Content-Length "9223372036854775808"`},
	{name: "until closed", in: "HTTP/1.1 200 OK\r\n\r\nabc", body: "abc"},
	{name: "until closed, nothing", in: "HTTP/1.1 200 OK\r\n\r\n"},
	{name: "HTTP/1.0", in: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", body: "a"},
	{name: "HTTP/1.0 keep-alive", in: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", body: "a", keep: true},
	{name: "announced close", in: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", body: "a"},
	{name: "lines that end in LF", in: "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", body: "abc", keep: true},
	{name: "blank line with CR after LF", in: "HTTP/1.1 200 OK\nContent-Length: 3\n\r\nabc", body: "abc", keep: true},
	{name: "folded line", in: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n \r\nContent-Length: 3\r\n\r\nabc", body: "abc", keep: true},
	{name: "CR alone is no line's end", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\r\n\r\nabc", err: `malformed MIME header line: "Content-Length: 3\r"`},
	{name: "204 with a length", in: "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", rest: 3},
	{name: "304 with chunks", in: "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", keep: true},
	{name: "HEAD", method: "HEAD", in: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", keep: true},
	{name: "HEAD with chunks", method: "HEAD", in: chunkedHead, keep: true},
	{name: "HEAD without length", method: "HEAD", in: "HTTP/1.1 200 OK\r\n\r\n", keep: true},
	{name: "interim", in: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", body: "a", keep: true},
	{name: "interim without end", in: strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 8), err: http1.ErrInterim.Error()},
	{name: "101", in: "HTTP/1.1 101 Switching Protocols\r\n\r\nxy", rest: 2},

	{name: "chunks", in: chunkedHead + "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", body: "abcde", keep: true},
	{name: "no chunk", in: chunkedHead + "0\r\n\r\n", keep: true},
	{name: "size in capitals, zeros in front", in: chunkedHead + "00A\r\n0123456789\r\n000\r\n\r\n", body: "0123456789", keep: true},
	{name: "extensions", in: chunkedHead + "3;a=b\r\nabc\r\n0;x\r\n\r\n", body: "abc", keep: true},
	{name: "blanks after the size", in: chunkedHead + "3 \t\r\nabc\r\n0\r\n\r\n", body: "abc", keep: true},
	{name: "blank before an extension", in: chunkedHead + "3 ;a\r\nabc\r\n0\r\n\r\n", err: http1.ErrChunk.Error()},
	{name: "trailer", in: chunkedHead + "1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n", body: "a", keep: true},
	{name: "trailer that is none", in: chunkedHead + "1\r\na\r\n0\r\nfoo\r\n\r\n", body: "a", err: http1.ErrTrailer.Error()},
	{name: "trailer that ends in LF LF", in: chunkedHead + "0\r\nX: y\n\nfoo\r\n\r\nbar", rest: 10},
	{name: "trailer too long", in: chunkedHead + "0\r\nX: " + strings.Repeat("y", 5000) + "\r\n\r\n", err: http1.ErrTrailer.Error()},
	{name: "after chunks", in: chunkedHead + "1\r\na\r\n0\r\n\r\nHTTP", body: "a", rest: 4},
	{name: "size line that ends in LF", in: chunkedHead + "1\na\r\n0\r\n\r\n", err: http1.ErrChunk.Error()},
	{name: "no size", in: chunkedHead + "\r\na\r\n0\r\n\r\n", err: http1.ErrChunk.Error()},
	{name: "bare LF for a size", in: chunkedHead + "\na", err: http1.ErrChunk.Error()},
	{name: "negative size", in: chunkedHead + "-1\r\na", err: http1.ErrChunk.Error()},
	{name: "size with 0x", in: chunkedHead + "0x1\r\na\r\n", err: http1.ErrChunk.Error()},
	{name: "size of 17 digits", in: chunkedHead + "00000000000000001\r\na\r\n0\r\n\r\n", err: http1.ErrChunk.Error()},
	{name: "size that overflows", in: chunkedHead + "ffffffffffffffff\r\na", err: http1.ErrChunk.Error()},
	{name: "line too long", in: chunkedHead + "1;" + strings.Repeat("x", 5000) + "\r\na\r\n0\r\n\r\n", err: http1.ErrChunk.Error()},
	{name: "mostly extensions", in: chunkedHead + strings.Repeat("1;"+strings.Repeat("x", 2000)+"\r\na\r\n", 20) + "0\r\n\r\n", body: "aaaaaaaa", err: http1.ErrChunk.Error()},
	{name: "data longer than the chunk", in: chunkedHead + "1\r\nab\r\n", body: "a", err: http1.ErrChunk.Error()},
	{name: "cut in a size", in: chunkedHead + "3", err: "unexpected EOF"},
	{name: "cut in data", in: chunkedHead + "3\r\nab", body: "ab", err: "unexpected EOF"},
	{name: "cut after data", in: chunkedHead + "3\r\nabc", body: "abc", err: "unexpected EOF"},
	{name: "cut before the last chunk", in: chunkedHead + "3\r\nabc\r\n", body: "abc", err: "unexpected EOF"},
	{name: "cut in the trailer", in: chunkedHead + "0\r\nX: y\r\n", err: "unexpected EOF"},

	{name: "nothing", err: "unexpected EOF"},
	{name: "cut in the first word", in: "HTT", err: "unexpected EOF"},
	{name: "cut in the head", in: "HTTP/1.1 200 OK\r\nContent-", err: "unexpected EOF"},
	{name: "not HTTP", in: "SSH-2.0-OpenSSH\r\n", err: `expected a response that begins with HTTP/, found "SSH-2"`},
	{name: "not HTTP, short", in: "no\n", err: `expected a response that begins with HTTP/, found "no\n"`},
	{name: "blank line in front", in: "\r\nHTTP/1.1 200 OK\r\n\r\n", err: `expected a response that begins with HTTP/, found "\r\n"`},
	{name: "bad status line, then cut", in: "HTTP/1.1 abc\r\nA", err: `malformed HTTP status code "abc"`},
	{name: "bad line, then cut", in: "HTTP/1.1 200 OK\r\nA b\r\nC", err: `malformed MIME header: missing colon: "A b"`},
	{name: "bad status line", in: "HTTP/1.1 abc\r\n\r\n", err: `malformed HTTP status code "abc"`},
	{name: "no blank after the version", in: "HTTP/1.1\r\n\r\n", err: `malformed HTTP response "HTTP/1.1"`},
	{name: "head without end", in: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20), err: http1.ErrHeadTooLong.Error()},
	{name: "head too long", in: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", err: http1.ErrHeadTooLong.Error()},
}

func TestParser(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range responses {
		t.Run(tt.name, func(t *testing.T) {
			whole := parse(t, tt.method, []byte(tt.in), nil)
			if whole.Body != tt.body || whole.Err != tt.err || whole.Rest != tt.rest || whole.Reusable != tt.keep {
				t.Errorf("body %q, error %q, rest %d, reusable %v, want %q, %q, %d, %v",
					whole.Body, whole.Err, whole.Rest, whole.Reusable, tt.body, tt.err, tt.rest, tt.keep)
			}
			compareNetHTTP(t, tt.method, []byte(tt.in), whole)
			for _, most := range []int{1, 2, 9, 900, 5000} {
				if len(tt.in) > 100*most {
					continue
				}
				chopped := parse(t, tt.method, []byte(tt.in), func() int { return 1 + rng.IntN(most) })
				compareOutcomes(t, whole, chopped)
			}
		})
	}
}

// An error in a head is reported without waiting for the end of the head.
func TestParserPrompt(t *testing.T) {
	for _, in := range []string{"HTTP/1.1 abc\r\n", "HTTP/1.1 200 OK\r\nA b\nC", "HTTP/1.1 200 OK\r\n A: b\r\nC", "HTTP/1.1 200 OK\r\nA: b\x00\r\nC: d"} {
		var p http1.Parser
		p.Reset("")
		for i := range in {
			p.Feed([]byte(in[i : i+1]))
			if p.Next() == http1.Failed {
				break
			}
		}
		if p.Err() == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

// One Parser reads response after response.
func TestParserReset(t *testing.T) {
	var p http1.Parser
	for range 2 {
		for _, tt := range responses {
			p.Reset(tt.method)
			got := parseWith(t, &p, []byte(tt.in), nil)
			if got.Body != tt.body || got.Err != tt.err {
				t.Errorf("%s: body %q, error %q, want %q, %q", tt.name, got.Body, got.Err, tt.body, tt.err)
			}
		}
	}
}

// The parser does not use fed bytes after they were taken.
func TestParserKeepsNothing(t *testing.T) {
	var p http1.Parser
	p.Reset("")
	head := []byte("HTTP/1.1 200 OK\r\nX-Request-Id: abc\r\nContent-Length: 1\r\n\r\n")
	p.Feed(head)
	if e := p.Next(); e != http1.Head {
		t.Fatalf("%v, want head", e)
	}
	for i := range head {
		head[i] = '!'
	}
	if id := p.Response().Header.Get("X-Request-Id"); id != "abc" {
		t.Errorf("X-Request-Id = %q, want abc", id)
	}
}

// Pieces of a body cost nothing, however they are chopped.
func TestParserAllocations(t *testing.T) {
	stream := []byte(strings.Repeat("12\r\ndata: {\"x\": \"y\"}\n\n\r\n", 1000))
	for _, size := range []int{7, 26, 4000} {
		var p http1.Parser
		p.Reset("")
		p.Feed([]byte(chunkedHead))
		if e := p.Next(); e != http1.Head {
			t.Fatalf("%v, want head", e)
		}
		pieces := 0
		n := testing.AllocsPerRun(10, func() {
			for rest := stream; len(rest) > 0; {
				k := min(size, len(rest))
				p.Feed(rest[:k])
				rest = rest[k:]
				for p.Next() == http1.Data {
					pieces++
				}
			}
		})
		if p.Err() != nil || pieces < 11*1000 {
			t.Fatalf("%d pieces, %v", pieces, p.Err())
		}
		if n != 0 {
			t.Errorf("pieces of %d: %v allocations, want 0", size, n)
		}
	}
}

// Any chopping gives the same, and it is what net/http makes of it.
func FuzzParser(f *testing.F) {
	for _, tt := range responses {
		if len(tt.in) < 10000 {
			f.Add([]byte(tt.in), tt.method == "HEAD", uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, head bool, seed uint64) {
		method := http.MethodPost
		if head {
			method = http.MethodHead
		}
		testenv.BoundMemory(t, len(in), 1<<20, 500, func() { parse(t, method, in, nil) })
		rng := rand.New(rand.NewPCG(seed, 0))
		most := 1 + rng.IntN(20)
		whole := parse(t, method, in, nil)
		compareOutcomes(t, whole, parse(t, method, in, func() int { return 1 + rng.IntN(most) }))
		compareNetHTTP(t, method, in, whole)
	})
}

// parse reads one response with a new Parser, from pieces of the sizes that size
// gives, nil means one piece.
func parse(t *testing.T, method string, in []byte, size func() int) outcome {
	t.Helper()
	var p http1.Parser
	p.Reset(method)
	return parseWith(t, &p, in, size)
}

func parseWith(t *testing.T, p *http1.Parser, in []byte, size func() int) outcome {
	t.Helper()
	var got outcome
	var body bytes.Buffer
	event := http1.More
	heads := 0
	for len(in) > 0 && event == http1.More {
		n := len(in)
		if size != nil {
			n = min(n, size())
		}
		piece := bytes.Clone(in[:n]) // overwritten after use
		in = in[n:]
		p.Feed(piece)
		for event = p.Next(); event == http1.Head || event == http1.Data; event = p.Next() {
			if event == http1.Head {
				if heads++; heads > 1 {
					t.Fatal("two heads")
				}
				continue
			}
			if heads == 0 || len(p.Data()) == 0 {
				t.Fatalf("data %q after %d heads", p.Data(), heads)
			}
			body.Write(p.Data())
		}
		if event == http1.End {
			got.Rest = p.Rest() + len(in)
		}
		for i := range piece {
			piece[i] = '!'
		}
	}
	if event == http1.More {
		event = p.EOF()
	}
	if again := p.Next(); event != http1.End && event != http1.Failed || again != event {
		t.Fatalf("%v, then %v, want end or failed and the same again", event, again)
	}
	if again := p.EOF(); again != event {
		t.Fatalf("%v, then EOF: %v, want the same", event, again)
	}
	if (event == http1.Failed) != (p.Err() != nil) {
		t.Fatalf("%v with error %v", event, p.Err())
	}
	if r := p.Response(); r != nil {
		got.HasHead = true
		got.Status, got.Header, got.ContentLength, got.TransferEncoding, got.Close = r.StatusCode, r.Header, r.ContentLength, r.TransferEncoding, r.Close
	}
	got.Body = body.String()
	if p.Err() != nil {
		got.Err = p.Err().Error()
	}
	got.Reusable = p.Reusable() && got.Rest == 0
	return got
}

func compareOutcomes(t *testing.T, whole, chopped outcome) {
	t.Helper()
	if diff := cmp.Diff(whole, chopped); diff != "" {
		t.Errorf("outcome (-whole +chopped):\n%s", diff)
	}
}

// compareNetHTTP reads the same with net/http.
func compareNetHTTP(t *testing.T, method string, in []byte, got outcome) {
	t.Helper()
	br := bufio.NewReader(bytes.NewReader(in))
	var resp *http.Response
	var err error
	for range 8 {
		resp, err = http.ReadResponse(br, &http.Request{Method: method})
		if err != nil || resp.StatusCode < 100 || resp.StatusCode > 199 || resp.StatusCode == http.StatusSwitchingProtocols {
			break
		}
		resp, err = nil, errors.New("interim")
	}
	if got.Err == http1.ErrHeadTooLong.Error() {
		return // no bound of net/http's
	}
	if err != nil {
		if got.Err == "" || got.HasHead {
			t.Errorf("head: status %d, error %q; net/http has %v", got.Status, got.Err, err)
		}
		return
	}
	if !got.HasHead {
		t.Errorf("head: error %q; net/http has status %d", got.Err, resp.StatusCode)
		return
	}
	body, err := io.ReadAll(resp.Body)
	want := outcome{
		HasHead: true, Status: resp.StatusCode, Header: resp.Header, ContentLength: resp.ContentLength, TransferEncoding: resp.TransferEncoding, Close: resp.Close,
		Body: string(body), Err: got.Err, Rest: got.Rest, Reusable: got.Reusable,
	}
	if (err == nil) != (got.Err == "") {
		t.Errorf("body: error %q; net/http has %v", got.Err, err)
	}
	if err != nil && strings.HasPrefix(want.Body, got.Body) {
		want.Body = got.Body // a chunk is refused for its size where net/http waits for its bytes
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-net/http +got):\n%s", diff)
	}
	if err == nil {
		if rest, _ := io.ReadAll(br); len(rest) != got.Rest {
			t.Errorf("%d bytes after the response; net/http has %d", got.Rest, len(rest))
		}
	}
}

func BenchmarkParser(b *testing.B) {
	const events = 1000
	piece := []byte("80\r\n" + strings.Repeat("x", 0x80) + "\r\n")
	var p http1.Parser
	b.SetBytes(int64(events * len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		p.Reset("")
		p.Feed([]byte(chunkedHead))
		if p.Next() != http1.Head {
			b.Fatal(p.Err())
		}
		for range events {
			p.Feed(piece)
			for p.Next() == http1.Data {
			}
		}
		if p.Err() != nil {
			b.Fatal(p.Err())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
