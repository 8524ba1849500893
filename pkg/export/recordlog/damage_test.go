package recordlog

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/memrun"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A recorded log, and for the end of each frame what the log holds there.
type recorded struct {
	data     []byte
	requests []*export.Request
	ends     []int
	known    []state
}

type state struct {
	requests    int
	experiments []export.Experiment
}

// record writes two levels, telemetry and a note, with each frame in its own buffer.
func record(t testing.TB) *recorded {
	t.Helper()
	var out bytes.Buffer
	rec := &recorded{}
	w, err := NewWriter(To(&out), &export.Run{Version: new("1"), Meta: &export.RunMeta{Tool: "t", StartNS: 5}})
	var experiments []export.Experiment
	mark := func(errs ...error) {
		t.Helper()
		if err := errors.Join(append(errs, w.Flush())...); err != nil {
			t.Fatal(err)
		}
		rec.ends = append(rec.ends, out.Len())
		rec.known = append(rec.known, state{len(rec.requests), slices.Clone(experiments)})
	}
	mark(err)
	for level := range 2 {
		e := export.Experiment{Mode: "concurrency", Value: fmt.Sprint(level + 1)}
		experiments = append(experiments, e)
		mark(w.BeginExperiment(e.Mode, e.Value))
		for i := range 3 - level {
			r := ok(export.Request{ID: uint64(level*10 + i), StartNS: 1e18, HasMeta: true, Inputs: export.Fields{{Name: "payload", Value: export.Text("a prompt of some words, which is a part of a frame")}}})
			for k := range uint64(3) {
				r.Responses = append(r.Responses, export.Response{RecvNS: 1e18 + k*1e7, Outputs: export.Fields{{Name: "response", Value: export.Text(fmt.Sprintf("data: {%d}", k*k))}}})
			}
			err := w.WriteRequest(r)
			rec.requests = append(rec.requests, r)
			mark(err)
		}
		mark(w.WriteScrape(&export.Scrape{Source: "s", StartNS: uint64(level), Samples: []export.Sample{{Series: &export.Series{Source: "s", Name: "m"}, Value: 1}}}))
		e.WindowBoundaries = []uint64{1, 2, 3}
		e.Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 4}}
		experiments[level] = e
		mark(w.EndExperiment(&e))
	}
	mark(w.Close(&export.Run{Version: new("2"), Meta: &export.RunMeta{Tool: "t", StartNS: 5, EndNS: 9}}))
	rec.data = out.Bytes()
	return rec
}

// TestCut cuts a log at each byte: the whole frames before it are delivered, and nothing else.
func TestCut(t *testing.T) {
	t.Parallel()
	rec := record(t)
	for n := range len(rec.data) {
		got, err := readBytes(t, rec.data[:n])
		var cut *export.CutError
		if !errors.As(err, &cut) || cut.Offset != int64(n) || cut.Nothing != (n < rec.ends[0]) {
			t.Fatalf("cut at %d of %d: %v", n, len(rec.data), err)
		}
		if n < rec.ends[0] {
			continue
		}
		var want state
		for i, end := range rec.ends {
			if end <= n {
				want = rec.known[i]
			}
		}
		if len(got.requests) != want.requests || want.requests > 0 && !reflect.DeepEqual(got.requests, rec.requests[:want.requests]) {
			t.Fatalf("cut at %d: %d requests, want %d, the same", n, len(got.requests), want.requests)
		}
		requireEqual(t, fmt.Sprint("cut at ", n), want.experiments, got.run.Experiments)
		if *got.run.Version != "1" || len(got.warnings) > 0 {
			t.Fatalf("cut at %d: %+v, warnings %v", n, got.run, got.warnings)
		}
	}
}

// TestFlip changes each byte of a log: the frames before it are delivered, no wrong value is, and
// the error names the frame.
func TestFlip(t *testing.T) {
	t.Parallel()
	rec := record(t)
	starts := append([]int{int(headBytes)}, rec.ends...)
	for i := range rec.data {
		for bit := range 8 {
			if (i+bit)%testenv.Stride(8) > 0 {
				continue
			}
			data := bytes.Clone(rec.data)
			data[i] ^= 1 << bit
			got, err := readBytes(t, data)
			if i < int(headBytes) {
				if err == nil && Format().Sniff(data) {
					t.Fatalf("byte %d, bit %d: the head is damaged and was read", i, bit)
				}
				continue
			}
			k := 0
			for starts[k+1] <= i {
				k++
			}
			var corrupt *CorruptionError
			var cut *export.CutError
			switch {
			case errors.As(err, &corrupt):
				if corrupt.Offset != int64(starts[k]) || corrupt.Path != "x" {
					t.Fatalf("byte %d, bit %d: %v, want offset %d", i, bit, err, starts[k])
				}
			case errors.As(err, &cut) && k == len(starts)-2: // a length that reaches beyond the file
			default:
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
			if k == 0 {
				continue
			}
			if want := rec.known[k-1]; len(got.requests) != want.requests {
				t.Fatalf("byte %d, bit %d: %d requests, want %d", i, bit, len(got.requests), want.requests)
			}
			for n, r := range got.requests {
				requireEqual(t, fmt.Sprintf("byte %d, bit %d, request %d", i, bit, n), rec.requests[n], r)
			}
		}
	}
}

// What follows a log, or is missing in it.
func TestTail(t *testing.T) {
	rec := record(t)
	n := len(rec.requests)
	at, end := rec.ends[2], rec.ends[3] // the second request
	zeros := make([]byte, 4096)
	later := slices.Concat(rec.data[:at], []byte{0xFD, 3, 1, 2, 3})
	later = append(later, sumOf(later, sumBefore(rec.data[:at]))...)
	for _, tt := range []struct {
		name     string
		data     []byte
		requests int
		err      string
		warning  string
	}{
		{"whole", rec.data, n, "", ""},
		{"bytes behind the end", slices.Concat(rec.data, []byte("xyz")), n, "", "the journal ends here, but 3 more bytes follow"},
		{"two logs", slices.Concat(rec.data, rec.data), n, "", fmt.Sprintf("the journal ends here, but %d more bytes follow", len(rec.data))},
		{"zeros where data never came", slices.Concat(rec.data[:at], zeros), 1, fmt.Sprintf("cut short at byte %d", at), ""},
		{"no frame but zeros", slices.Concat(rec.data[:headBytes], zeros), -1, "nothing before it can be used", ""},
		{"zeros, then something", slices.Concat(rec.data[:at], zeros, []byte{1}), 1, fmt.Sprintf("byte %d: damaged: expected the start of a frame (f5 to ff), found 00", at), ""},
		{"a hole of zeros", slices.Concat(rec.data[:at+50], zeros[:20], rec.data[at+70:]), 1, fmt.Sprintf("byte %d: damaged: the checksum of the frame is ", at), ""},
		{"a frame is missing", slices.Concat(rec.data[:at], rec.data[end:]), 1, fmt.Sprintf("byte %d: damaged: the checksum", at), ""},
		{"a frame is twice", slices.Concat(rec.data[:end], rec.data[at:]), 2, fmt.Sprintf("byte %d: damaged: the checksum", end), ""},
		{"a length beyond the end", slices.Concat(rec.data[:at], []byte{0xF7, 0xFF, 0xFF, 0x03}, rec.data[at+3:]), 1, fmt.Sprintf("byte %d: damaged: a frame that reaches beyond the end of the file, though other frames follow", at), ""},
		{"a length without end", slices.Concat(rec.data[:at], bytes.Repeat([]byte{0xFF}, 20)), 1, "the length of a frame has more than 5 bytes", ""},
		{"a length that no frame has", slices.Concat(rec.data[:at], []byte{0xF7, 0x81, 0x80, 0x80, 0x80, 0x04}), 1, "a frame cannot have 1073741825 bytes", ""},
		{"a frame of a later version", later, 1, "cut short", "a frame has the unknown kind fd and is skipped"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readBytes(t, tt.data)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("%v, want %q", err, tt.err)
			}
			if tt.requests < 0 {
				return
			}
			if len(got.requests) != tt.requests {
				t.Errorf("%d requests, want %d", len(got.requests), tt.requests)
			}
			if w := fmt.Sprint(got.warnings); tt.warning == "" && len(got.warnings) > 0 || !strings.Contains(w, tt.warning) {
				t.Errorf("warnings %s, want %q", w, tt.warning)
			}
		})
	}
}

// sumBefore returns the checksum of the last frame of data.
func sumBefore(data []byte) uint32 {
	last := data[len(data)-sumBytes:]
	return uint32(last[0]) | uint32(last[1])<<8 | uint32(last[2])<<16 | uint32(last[3])<<24
}

// sumOf returns the checksum of the last five bytes of data, a frame without one.
func sumOf(data []byte, before uint32) []byte {
	s := crc32.Update(before, castagnoli, data[len(data)-5:])
	return []byte{byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
}

// Frames with a right checksum that make no sense.
func TestFrames(t *testing.T) {
	level := func(text string) func([]byte) []byte { return payload(KindLevel, text) }
	inLevel := func(request string) func([]byte) []byte {
		return func(b []byte) []byte {
			return payload(KindRequest, request)(level(`{"experiments":[{"experiment":{"mode":"m","value":1},"requests":[]}]}`)(b))
		}
	}
	good, err := appendRequest(nil, memrun.Typical(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		add  func([]byte) []byte
		want string
	}{
		{"a second header", payload(KindRun, `{"experiments":[]}`), "a second header of the run"},
		{"a request without a level", payload(KindRequest, string(good)), "a request without a level or a status"},
		{"an end without a start", payload(KindLevelEnd, `{"experiments":[{"requests":[]}]}`), "the end of an experiment without its begin"},
		{"no experiment", level(`{"experiments":[]}`), "expected one experiment, found 0"},
		{"no JSON", level(`x`), "expected a JSON object"},
		{"requests in the header", level(`{"experiments":[{"requests":[{"timestamp":1}]}]}`), "holds requests"},
		{"an empty request", inLevel(""), "a request without a level or a status"},
		{"half a request", inLevel(string(good[:len(good)/2])), "a request is shorter than it says"},
		{"more than a request", inLevel(string(good) + "x"), "a request ends 1 bytes before its frame"},
		{"flags of a later version", inLevel("\x01\x02\x80\x80\x04\x00\x00\x00" + strings.Repeat("\x00", 14)), "a request has unknown flags 0x10000"},
		{"a share of nothing", inLevel(share(5, 0)), "an output shares 5 and 0 bytes with one of 0"},
		{"a huge share", inLevel(share(1<<63, 1<<63)), "an output shares "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, err := appendFrame(fileHead(), KindRun, []byte(`{"experiments":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			data := tt.add(head)
			new(Prefix).Add(data, nil)
			got, err := readBytes(t, data)
			var corrupt *CorruptionError
			if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), tt.want) || got == nil || len(got.requests) != 0 {
				t.Errorf("%+v, %v; want %q", got, err, tt.want)
			}
		})
	}
	for _, tt := range []struct{ name, data, want string }{
		{"empty", "", "cut short at byte 0, inside the header of the journal; nothing before it can be used"},
		{"the head alone", string(fileHead()), "cut short at byte 8, inside the header of the journal"},
		{"another version", magic + "\x03\xF5", "the journal has version 3, but this program reads versions 1 to 2; use a newer version of it"},
		{"no version", magic + "\x00\xF5", "the journal has version 0"},
		{"no frame", string(fileHead()) + "hello, hello", "byte 8: damaged: expected the start of a frame (f5 to ff), found 68; is it a journal of pa-record?"},
		{"no header", sealed(Note("x")), "expected the header of the run, found a frame of kind fa"},
	} {
		if _, err := readBytes(t, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// payload returns a function that appends a frame.
func payload(kind Kind, text string) func([]byte) []byte {
	return func(b []byte) []byte {
		b, err := appendFrame(b, kind, []byte(text))
		if err != nil {
			panic(err)
		}
		return b
	}
}

// sealed returns a log of one frame.
func sealed(frame []byte) string {
	b := append(fileHead(), frame...)
	new(Prefix).Add(b, nil)
	return string(b)
}

// share returns a request whose only output claims to share bytes.
func share(prefix, suffix uint64) string {
	d := ok(export.Request{Responses: []export.Response{{Outputs: export.Fields{{Name: "a", Value: export.Text("")}}}}})
	b, err := appendRequest(nil, d)
	if err != nil {
		panic(err)
	}
	b = append(b[:len(b)-1], 1)
	for _, n := range []uint64{prefix, suffix} {
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(b, byte(n))
	}
	return string(b)
}

// A log that another program cut goes on behind its last whole frame.
func TestWholeFrames(t *testing.T) {
	t.Parallel()
	rec := record(t)
	for n := range len(rec.data) {
		p := WholeFrames(bytes.NewReader(rec.data), int64(n))
		want, requests := 0, 0
		for i, end := range rec.ends {
			if end <= n {
				want, requests = end, rec.known[i].requests
			}
		}
		if p.Bytes != int64(want) || p.Requests != requests {
			t.Fatalf("of %d bytes: %+v, want %d bytes", n, p, want)
		}
		if want == 0 {
			continue
		}
		end, err := End(&export.Run{Version: new("3")})
		if err != nil {
			t.Fatal(err)
		}
		note := Note("requests lost: 2")
		p.Add(note, nil)
		p.Add(end, nil)
		got, err := readBytes(t, slices.Concat(rec.data[:want], note, end))
		if err != nil || len(got.requests) != requests || *got.run.Version != "3" || !slices.Equal(got.run.Meta.Warnings, []string{"requests lost: 2"}) || p.Bytes != int64(want+len(note)+len(end)) {
			t.Fatalf("of %d bytes, ended: %v, %+v, %+v", n, err, got, p)
		}
	}
	if p := WholeFrames(strings.NewReader("something else"), 14); p != (Prefix{}) {
		t.Errorf("of another file: %+v", p)
	}
}

// schemas/journal.md has a line for each kind.
func TestKindsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../schemas/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind := KindRun; kind <= KindRunEnd; kind++ {
		if !strings.Contains(string(doc), fmt.Sprintf("\n| %02x | ", byte(kind))) {
			t.Errorf("kind %02x is not explained", byte(kind))
		}
	}
	if !strings.Contains(string(doc), fmt.Sprintf("(version %d)", version)) || !strings.Contains(string(doc), fmt.Sprintf("%q", magic)) {
		t.Error("the magic or the version is not explained")
	}
}

// FuzzReader reads whatever there is: no panic, no large memory, and what is read can be written
// and read again.
func FuzzReader(f *testing.F) {
	f.Add(record(f).data)
	f.Add(randomRun(3, 6).encode(f))
	f.Add([]byte(share(1, 1)))
	lim := export.Limits{MaxValueBytes: 64 << 10}
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.BoundMemory(t, len(data), 64<<20, 1000, func() {
			var first, second export.Request
			if err := new(codec).read(data, &first); err == nil {
				again, err := appendRequest(nil, &first)
				if err := errors.Join(err, new(codec).read(again, &second)); err != nil {
					t.Fatal(err)
				}
				first.Stated, second.Stated = nil, nil // texts of JSON, with members in another order
				requireEqual(t, "written and read again", first.Clone(), second.Clone())
			}
			// The fuzzer finds no checksums.
			if len(data) > 1 && Format().Sniff(data) {
				data = reseal(data)
			}
			r, err := openBytes(t, data, lim)
			if err != nil {
				if err.Error() == "" {
					t.Error("an error without a text")
				}
				return
			}
			for r.Next() {
				if r.Request() == nil || r.Experiment() >= len(r.Run().Experiments) {
					t.Fatalf("a request of experiment %d of %d", r.Experiment(), len(r.Run().Experiments))
				}
			}
			if err := errors.Join(r.Scrapes(t.Context(), func(*export.Scrape) error { return nil }), r.Close()); err != nil {
				t.Fatal(err)
			}
			WholeFrames(bytes.NewReader(data), int64(len(data)))
		})
	})
}

// reseal sets the checksums of the whole frames of data, in a copy.
func reseal(data []byte) []byte {
	data = bytes.Clone(data)
	var p Prefix
	end := headBytes
	for {
		if end > int64(len(data)) {
			return data
		}
		size, _, whole, err := frameSize(data[end:])
		if err != nil || !whole || size > int64(len(data))-end {
			if end > headBytes {
				p.Add(data[:end], nil)
			}
			return data
		}
		end += size
	}
}
