package sse_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// streams holds streams with the frames that a Splitter must return.
var streams = []struct {
	name   string
	in     string
	frames []string
	rest   string
}{
	{name: "empty"},
	{name: "LF", in: "data: a\n\ndata: b\n\n", frames: []string{"data: a\n\n", "data: b\n\n"}},
	{name: "CR LF", in: "data: a\r\n\r\ndata: b\r\n\r\n", frames: []string{"data: a\r\n\r\n", "data: b\r\n\r\n"}},
	{name: "CR", in: "data: a\r\rdata: b\r\r", frames: []string{"data: a\r\r", "data: b\r\r"}},
	{name: "several lines", in: "event: x\ndata: a\ndata: b\n\n", frames: []string{"event: x\ndata: a\ndata: b\n\n"}},
	{name: "TensorRT-LLM: space before the newline", in: "data: {} \n\ndata: [DONE]\n\n", frames: []string{"data: {} \n\n", "data: [DONE]\n\n"}},
	{name: "bare comment", in: ":\n\n: ping\n\n", frames: []string{":\n\n", ": ping\n\n"}},
	{name: "no blank line at the end", in: "data: a\n\ndata: b\n", frames: []string{"data: a\n\n"}, rest: "data: b\n"},
	{name: "cut inside a line", in: "data: a\n\ndata: {\"x", frames: []string{"data: a\n\n"}, rest: "data: {\"x"},
	{name: "blank lines in front belong to the next frame", in: "\n\r\n\rdata: a\n\n\n\ndata: b\n\n", frames: []string{"\n\r\n\rdata: a\n\n", "\n\ndata: b\n\n"}},
	{name: "only blank lines", in: "\n\n\r\n", rest: "\n\n\r\n"},
	{name: "blank lines after the last event", in: "data: a\n\n\n", frames: []string{"data: a\n\n"}, rest: "\n"},
	{name: "byte order mark", in: "\ufeffdata: a\n\n", frames: []string{"\ufeffdata: a\n\n"}},
	{name: "LF line, CR LF blank line", in: "data: a\n\r\ndata: b\n\r\n", frames: []string{"data: a\n\r", "\ndata: b\n\r"}, rest: "\n"},
	{name: "CR line, CR LF blank line", in: "data: a\r\r\ndata: b\n\n", frames: []string{"data: a\r\r", "\ndata: b\n\n"}},
	{name: "CR LF line, LF blank line", in: "data: a\r\n\ndata: b\r\n\n", frames: []string{"data: a\r\n\n", "data: b\r\n\n"}},
	{name: "CR LF line, CR blank line", in: "data: a\r\n\rdata: b\r\n\r", frames: []string{"data: a\r\n\r"}, rest: "data: b\r\n\r"},
	{name: "CR LF lines in one event", in: "id: 1\r\ndata: a\r\n\r\n", frames: []string{"id: 1\r\ndata: a\r\n\r\n"}},
	{name: "not SSE", in: `{"error":"x"}`, rest: `{"error":"x"}`},
	{name: "NUL and invalid UTF-8", in: "data: \x00\xff\n\n", frames: []string{"data: \x00\xff\n\n"}},
}

func TestSplitter(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size <= len(tt.in)+1; size++ {
				frames, rest := split(t, []byte(tt.in), func() int { return size })
				if diff := cmp.Diff(tt.frames, frames); diff != "" {
					t.Errorf("pieces of %d: frames (-want +got):\n%s", size, diff)
				}
				if rest != tt.rest {
					t.Errorf("pieces of %d: rest = %q, want %q", size, rest, tt.rest)
				}
			}
		})
	}
}

// TestSplitterPrompt checks that a frame is complete before the byte after it arrives.
func TestSplitterPrompt(t *testing.T) {
	for _, in := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r", "data: a\n\r", "data: a\r\n\n"} {
		var s sse.Splitter
		s.Feed([]byte(in))
		if !s.Next() || string(s.Frame()) != in {
			t.Errorf("%q: frame = %q, want it whole at once", in, s.Frame())
		}
	}
}

func TestSplitterTooLong(t *testing.T) {
	const limit = 64
	for _, piece := range []int{1, 7, limit, 1000} {
		s := sse.Splitter{MaxFrameBytes: limit}
		long := []byte("data: a\n\ndata: " + strings.Repeat("x", 200) + "\n\ndata: b\n\n")
		var frames []string
		for in := long; len(in) > 0; {
			n := min(piece, len(in))
			s.Feed(in[:n])
			in = in[n:]
			for s.Next() {
				frames = append(frames, string(s.Frame()))
			}
		}
		var tooLong *sse.FrameTooLongError
		if !errors.As(s.Err(), &tooLong) || tooLong.MaxBytes != limit {
			t.Errorf("pieces of %d: Err() = %v, want a *FrameTooLongError of %d bytes", piece, s.Err(), limit)
		}
		if diff := cmp.Diff([]string{"data: a\n\n"}, frames); diff != "" {
			t.Errorf("pieces of %d: frames (-want +got):\n%s", piece, diff)
		}
		if got, want := string(s.Rest()), string(long[9:9+limit]); got != want {
			t.Errorf("pieces of %d: Rest() = %q, want %q", piece, got, want)
		}
	}
}

// TestSplitterLimit checks that a frame of exactly the limit is not an error.
func TestSplitterLimit(t *testing.T) {
	in := []byte("data: 12345\n\n")
	s := sse.Splitter{MaxFrameBytes: len(in)}
	for i := range in {
		s.Feed(in[i : i+1])
		if got, want := s.Next(), i == len(in)-1; got != want {
			t.Fatalf("Next() after %d bytes = %v (%v), want %v", i+1, got, s.Err(), want)
		}
	}
}

func TestSplitterReset(t *testing.T) {
	s := sse.Splitter{MaxFrameBytes: 8}
	s.Feed([]byte("data: too long"))
	for s.Next() {
	}
	if s.Err() == nil {
		t.Fatal("Err() = nil for a frame over the limit")
	}
	s.Reset()
	s.Feed([]byte("data:a\n\n"))
	if !s.Next() || string(s.Frame()) != "data:a\n\n" || s.Err() != nil {
		t.Errorf("after Reset: Frame() = %q, Err() = %v", s.Frame(), s.Err())
	}
	s.Feed([]byte("data: bbb\n\n"))
	if s.Next() || s.Err() == nil {
		t.Error("Reset lost MaxFrameBytes")
	}
}

// TestSplitterGolden checks that streams of real servers give the same frames whole and in
// random pieces.
func TestSplitterGolden(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, body := range goldenBodies(t) {
		whole, wholeRest := split(t, body, func() int { return len(body) })
		for range 20 {
			frames, rest := split(t, body, func() int { return 1 + rng.IntN(300) })
			if diff := cmp.Diff(whole, frames); diff != "" || rest != wholeRest {
				t.Errorf("%s: frames (-whole +chopped), rest %q and %q:\n%s", name, wholeRest, rest, diff)
			}
		}
		if got := strings.Join(whole, "") + wholeRest; got != string(body) {
			t.Errorf("%s: frames joined are not the stream", name)
		}
		if n := bytes.Count(body, []byte("\n\n")); len(whole) != n {
			t.Errorf("%s: %d frames, want %d", name, len(whole), n)
		}
	}
}

func FuzzSplitter(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(tt.in), uint64(1))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		testenv.BoundMemory(t, len(in), 1<<20, 200, func() { split(t, in, func() int { return len(in) }) })
		rng := rand.New(rand.NewPCG(seed, 0))
		whole, wholeRest := split(t, in, func() int { return len(in) })
		frames, rest := split(t, in, func() int { return 1 + rng.IntN(9) })
		if diff := cmp.Diff(whole, frames); diff != "" || rest != wholeRest {
			t.Fatalf("rest %q and %q, frames (-whole +chopped):\n%s", wholeRest, rest, diff)
		}
		if got := strings.Join(whole, "") + wholeRest; got != string(in) {
			t.Fatalf("frames and rest joined = %q, want %q", got, in)
		}
		if diff := cmp.Diff(referenceData(in), eventData(append(whole, wholeRest))); diff != "" {
			t.Fatalf("data (-reference +got):\n%s", diff)
		}
	})
}

// split cuts in into pieces of the sizes that size returns, and feeds them to a Splitter. It
// returns the frames and the rest. It overwrites the pieces after use, to catch a Splitter
// that keeps one.
func split(t *testing.T, in []byte, size func() int) (frames []string, rest string) {
	t.Helper()
	var s sse.Splitter
	for len(in) > 0 {
		p := bytes.Clone(in[:min(size(), len(in))])
		in = in[len(p):]
		s.Feed(p)
		for s.Next() {
			frames = append(frames, string(s.Frame()))
		}
		if err := s.Err(); err != nil {
			t.Fatalf("Err() = %v", err)
		}
		for i := range p {
			p[i] = '!'
		}
	}
	return frames, string(s.Rest())
}

// eventData returns the data of all frames that have some.
func eventData(frames []string) []string {
	var data []string
	for _, f := range frames {
		if e := sse.Parse([]byte(f)); e.HasData {
			data = append(data, string(e.Data))
		}
	}
	return data
}

// referenceData reads a stream as the standard describes it: it replaces all line endings by
// LF and then reads line by line. Unlike the standard, it also dispatches an event at the end
// of the stream, and skips a byte order mark at the start of any event.
func referenceData(in []byte) []string {
	text := strings.ReplaceAll(strings.ReplaceAll(string(in), "\r\n", "\n"), "\r", "\n")
	var all, data []string
	dispatch := func() {
		if data != nil {
			all = append(all, strings.Join(data, "\n"))
		}
		data = nil
	}
	first := true
	for _, line := range strings.Split(text, "\n") {
		if line == "" {
			dispatch()
			first = true
			continue
		}
		if first {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		first = false
		name, value, _ := strings.Cut(line, ":")
		if name == "data" {
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	dispatch()
	return all
}

// goldenBodies returns the bodies of all recorded event streams.
func goldenBodies(tb testing.TB) map[string][]byte {
	tb.Helper()
	bodies := map[string][]byte{}
	golden.Each(tb, "openai_streams", "*.http", 20, func(name string, b []byte) {
		head, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
		if !bytes.Contains(bytes.ToLower(head), []byte("text/event-stream")) {
			return
		}
		var out bytes.Buffer
		// A recording that was cut short ends in an error here, after the
		// bytes that came.
		_, _ = out.ReadFrom(httputil.NewChunkedReader(bytes.NewReader(body)))
		bodies[name] = out.Bytes()
	})
	if len(bodies) < 20 {
		tb.Fatalf("%d recorded streams, want at least 20", len(bodies))
	}
	return bodies
}

func BenchmarkSplitter(b *testing.B) {
	var stream []byte
	for _, body := range goldenBodies(b) {
		stream = append(stream, body...)
	}
	for _, tt := range []struct {
		name string
		size int
	}{{"whole", len(stream)}, {"32KiB", 32 << 10}, {"250B", 250}} {
		b.Run(tt.name, func(b *testing.B) {
			var s sse.Splitter
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				for in := stream; len(in) > 0; {
					n := min(tt.size, len(in))
					s.Feed(in[:n])
					in = in[n:]
					for s.Next() {
						if e := sse.Parse(s.Frame()); !e.HasData && !e.Comment {
							b.Fatalf("frame %q", s.Frame())
						}
					}
				}
			}
		})
	}
}
