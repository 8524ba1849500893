package columnar

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A recorded journal, and for each number of its bytes what is on disk then.
type recorded struct {
	data     []byte
	requests []*export.Request
	// ends are the sizes of the file after each frame, and what the file
	// holds then.
	ends  []int
	known []state
}

type state struct {
	requests    int
	experiments []export.Experiment
}

// record writes two levels with flushes after every second request.
func record(t testing.TB) *recorded {
	t.Helper()
	var out bytes.Buffer
	rec := &recorded{}
	j, err := NewJournalWriter(&out, &export.Run{Version: str("1"), Meta: &export.RunMeta{Tool: "t", StartNS: 5}})
	if err != nil {
		t.Fatal(err)
	}
	var experiments, before []export.Experiment
	// mark notes what the file holds after each frame that a call has written:
	// rows first, then what the call says.
	mark := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		if n := len(rec.ends); n > 0 {
			at = rec.ends[n-1]
		}
		for at < out.Len() {
			at += frameLen(t, out.Bytes()[at:])
			s := state{len(rec.requests), before}
			if at == out.Len() {
				s.experiments = slices.Clone(experiments)
			}
			rec.ends = append(rec.ends, at)
			rec.known = append(rec.known, s)
		}
		before = slices.Clone(experiments)
	}
	mark(nil)
	s := newRandom(12, 11)
	for level := range 2 {
		e := export.Experiment{Mode: "concurrency", Value: fmt.Sprint(level + 1)}
		experiments = append(experiments, e)
		mark(j.BeginExperiment(e.Mode, e.Value))
		for i := range 3 - 2*level {
			r := s.Request()
			r.Status, r.Phase = export.StatusOK, export.PhaseMeasured // in the order of the file
			r.ID = uint64(i)
			if err := j.WriteRequest(r); err != nil {
				t.Fatal(err)
			}
			rec.requests = append(rec.requests, r)
			if i == 1 {
				mark(j.Flush())
			}
			if i == 2 {
				e.WindowBoundaries = []uint64{1, 2}
				experiments[level] = e
				mark(j.Update(&e))
			}
		}
		e.WindowBoundaries = []uint64{1, 2, 3}
		e.Meta = &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 4}}
		experiments[level] = e
		mark(j.EndExperiment(&e))
	}
	if err := j.Close(&export.Run{Version: str("2"), Meta: &export.RunMeta{Tool: "t", StartNS: 5, EndNS: 9}}); err != nil {
		t.Fatal(err)
	}
	rec.data = out.Bytes()
	return rec
}

func frameLen(t testing.TB, b []byte) int {
	t.Helper()
	r := frameReader{src: bytes.NewReader(b), size: int64(len(b)), maxBody: 1 << 30}
	f, _, _, err := r.read(0)
	if err != nil {
		t.Fatal(err)
	}
	return int(f.size())
}

// TestJournalCut cuts a journal around the ends of its frames, and here and there
// within them: what was whole is delivered, and nothing else, and the header is that
// of the moment.
func TestJournalCut(t *testing.T) {
	t.Parallel()
	rec := record(t)
	whole, err := readBytes(testFormats[2], rec.data, export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(rec.requests, whole.requests); d != "" || *whole.run.Version != "2" || whole.run.Meta.EndNS != 9 {
		t.Fatalf("whole: %+v, (-want +got):\n%s", whole.run, d)
	}
	closed := len(rec.data) - len(endOfStream) // without the mark at the end nothing is missing
	first := frameLen(t, rec.data)             // the schema
	for n := range len(rec.data) {
		edge := slices.ContainsFunc(rec.ends, func(end int) bool { return end-24 < n && n < end+40 })
		last := slices.ContainsFunc(rec.ends, func(end int) bool { return end-2 < n && n < end+2 })
		if n%7 != 0 && !edge || n%testenv.Stride(11) != 0 && !last {
			continue
		}
		got, err := readBytes(testFormats[2], rec.data[:n], export.Limits{})
		var cut *export.CutError
		switch {
		case n >= closed && err == nil:
			continue
		case !errors.As(err, &cut) || cut.Offset != int64(n):
			t.Fatalf("cut at %d of %d: %v", n, len(rec.data), err)
		case n < first:
			if got != nil {
				t.Fatalf("cut at %d: read without a schema", n)
			}
			continue
		}
		want := state{}
		for i, end := range rec.ends {
			if end <= n {
				want = rec.known[i]
			}
		}
		if w := rec.requests[:want.requests]; len(w) != len(got.requests) || len(w) > 0 && !reflect.DeepEqual(w, got.requests) {
			t.Fatalf("cut at %d: %d requests, want %d; (-want +got):\n%s", n, len(got.requests), len(w), cmp.Diff(w, got.requests))
		}
		if d := difference(want.experiments, got.run.Experiments); d != "" || *got.run.Version != "1" || got.run.Meta.StartNS != 5 {
			t.Fatalf("cut at %d: %+v (-want +got):\n%s", n, got.run, d)
		}
	}
}

// A journal that is cut behind any of its frames and then ended has what these
// hold, and the header of the end; nothing looks cut.
func TestEndJournal(t *testing.T) {
	t.Parallel()
	rec := record(t)
	for i, end := range rec.ends[1:] { // the first two are written at once: schema and nothing
		want := rec.known[i+1]
		out := bytes.NewBuffer(bytes.Clone(rec.data[:end]))
		if err := EndJournal(out, uint64(i+2), &export.Run{Version: str("3"), Meta: &export.RunMeta{Tool: "t", EndNS: 7}}); err != nil {
			t.Fatal(err)
		}
		got, err := readBytes(testFormats[2], out.Bytes(), export.Limits{})
		if err != nil {
			t.Fatalf("ended after frame %d: %v", i+1, err)
		}
		if len(got.requests) != want.requests || *got.run.Version != "3" || got.run.Meta.EndNS != 7 {
			t.Errorf("ended after frame %d: %d requests, want %d; %+v", i+1, len(got.requests), want.requests, got.run)
		}
		if d := difference(want.experiments, got.run.Experiments); d != "" {
			t.Errorf("ended after frame %d (-want +got):\n%s", i+1, d)
		}
	}
	if err := EndJournal(io.Discard, 0, nil); err == nil {
		t.Error("a journal that had not begun was ended")
	}
}

// TestJournalFlip changes bytes all over a journal: no wrong value is ever
// delivered, and the error says from where on.
func TestJournalFlip(t *testing.T) {
	t.Parallel()
	rec := record(t)
	starts := []int{0}
	for at := 0; at < len(rec.data)-len(endOfStream); {
		at += frameLen(t, rec.data[at:])
		starts = append(starts, at)
	}
	last := starts[len(starts)-2] // of the frame at the end of the run
	for i := 0; i < len(rec.data); i += 11 * testenv.Stride(11) {
		if i >= starts[len(starts)-1] {
			break // the mark at the end
		}
		for _, flip := range []byte{1 << (i % 8)} {
			data := bytes.Clone(rec.data)
			data[i] ^= flip
			got, err := readBytes(testFormats[2], data, export.Limits{})
			k := 0
			for starts[k+1] <= i {
				k++
			}
			var corrupt *CorruptionError
			var cut *export.CutError
			switch {
			case errors.As(err, &corrupt):
				if corrupt.Offset != int64(starts[k]) || corrupt.Path != "x" {
					t.Fatalf("byte %d ^ %#x: %v, want offset %d", i, flip, err, starts[k])
				}
			case errors.As(err, &cut) && starts[k] == last:
				// A size that reaches beyond the file, with nothing behind it.
			default:
				t.Fatalf("byte %d ^ %#x: %v", i, flip, err)
			}
			if k == 0 {
				continue
			}
			for n, r := range got.requests {
				if !reflect.DeepEqual(rec.requests[n], r) {
					t.Fatalf("byte %d ^ %#x: request %d differs", i, flip, n)
				}
			}
		}
	}
}

// A journal with bytes after its end, or without its end.
func TestJournalTail(t *testing.T) {
	rec := record(t)
	n := len(rec.requests)
	var rows int // the start of a frame in the middle
	for at := 0; at < len(rec.data)/2; {
		rows = at
		at += frameLen(t, rec.data[at:])
	}
	closed := len(rec.data) - len(endOfStream)
	for _, tt := range []struct {
		name     string
		data     []byte
		requests int // -1: some
		want     string
		warning  string
	}{
		{"whole", rec.data, n, "", ""},
		{"no mark at the end", rec.data[:closed], n, "", ""},
		{"bytes behind the end", append(bytes.Clone(rec.data), "xyz"...), n, "", "the journal ends here, but 3 more bytes follow"},
		{"zeros where data never came", append(bytes.Clone(rec.data[:rows]), make([]byte, 4096)...), -1, "cut short at byte " + fmt.Sprint(rows), ""},
		{"zeros, then something", append(append(bytes.Clone(rec.data[:rows]), make([]byte, 4096)...), 1), -1, "damaged: expected the start of a frame (ff ff ff ff), found 00 00 00 00", ""},
		{"a hole of zeros", replace(rec.data, rows+64, make([]byte, 256)), -1, "byte " + fmt.Sprint(rows) + ": damaged: the checksum of the frame is ", ""},
		{"the stream ends too soon", append(bytes.Clone(rec.data[:rows]), endOfStream...), -1, "damaged: the stream ends here, but not the run", ""},
		{"two journals", append(bytes.Clone(rec.data[:closed]), rec.data...), n, "damaged: a frame of kind 1 after the end of the run", ""},
		{"a frame is missing", append(bytes.Clone(rec.data[:rows]), rec.data[rows+frameLen(t, rec.data[rows:]):]...), -1, "byte " + fmt.Sprint(rows) + ": damaged: frame 6 follows frame 4", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := testFormats[2].open(t, tt.data)
			got, err := read(r)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
			if tt.requests >= 0 && len(got.requests) != tt.requests {
				t.Errorf("%d requests, want %d", len(got.requests), tt.requests)
			}
			if w := fmt.Sprint(r.Warnings()); tt.warning == "" && len(r.Warnings()) > 0 || !strings.Contains(w, tt.warning) {
				t.Errorf("warnings: %s", w)
			}
		})
	}
}

func replace(data []byte, at int, with []byte) []byte {
	out := bytes.Clone(data)
	copy(out[at:], with)
	return out
}

// A frame of a later version is left out; one that makes no sense is damage.
func TestJournalFrames(t *testing.T) {
	rec := record(t)
	first := frameLen(t, rec.data)
	frame := func(kind frameKind, text string) []byte {
		b, err := appendFrame(bytes.Clone(rec.data[:first]), kind, 1, []byte("12345678"), []byte(text), func(b []byte) ([]byte, error) { return b, nil })
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"unknown", frame(99, "x"), "cut short"},
		{"schema twice", frame(frameSchema, ""), "a second schema"},
		{"an end without a start", frame(frameEnd, `{"experiments":[{"requests":[]}]}`), "the end of an experiment without its begin"},
		{"no experiment", frame(frameBegin, `{"experiments":[]}`), "expected one experiment, found 0"},
		{"no JSON", frame(frameBegin, `x`), "expected a JSON object"},
		{"requests in the header", frame(frameBegin, `{"experiments":[{"requests":[{"timestamp":1}]}]}`), "holds requests"},
		{"no Arrow", frame(frameRows, ""), "damaged"},
		{"rows of no experiment", rowsOf(t, 7), "a row belongs to experiment 7, but the header has 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readBytes(testFormats[2], tt.data, export.Limits{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || got == nil || len(got.requests) != 0 {
				t.Errorf("%+v, %v; want %q", got, err, tt.want)
			}
		})
	}
	// Not even a schema.
	for _, tt := range []struct{ name, data, want string }{
		{"empty", "", "cut short at byte 0, inside the schema"},
		{"stream of another tool", "\xff\xff\xff\xff\x20\x00\x00\x00" + strings.Repeat("x", 64), "is it a journal of pa-record?"},
		{"end at the start", string(endOfStream), "found the end of the stream"},
	} {
		if _, err := readBytes(testFormats[2], []byte(tt.data), export.Limits{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// rowsOf returns a journal whose rows belong to an experiment that does not exist.
func rowsOf(t *testing.T, experiment int) []byte {
	var out bytes.Buffer
	j, err := NewJournalWriter(&out, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = j.w.batch.add(&export.Request{})
	j.w.batch.setLevel(experiment, &export.Experiment{})
	if err := errors.Join(err, j.Flush()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The bytes of a frame are as in the diagram of schemas/columns.md.
func TestFrameLayout(t *testing.T) {
	b, err := appendFrame(nil, frameBegin, 7, []byte("metadata"), []byte("{}"), func(b []byte) ([]byte, error) { return append(b, "12345678"...), nil })
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	want := le.AppendUint32(nil, 0xFFFFFFFF)
	want = le.AppendUint32(want, 48)
	want = append(want, "metadata\x00\x00\x00\x00\x00\x00{}paJ1"...)
	want = le.AppendUint32(want, 3)
	want = le.AppendUint64(want, 8)
	want = le.AppendUint64(want, 7)
	want = le.AppendUint32(want, 2)
	sum := crc32.Checksum(append(bytes.Clone(want), "12345678"...), crc32.MakeTable(crc32.Castagnoli))
	want = append(le.AppendUint32(want, sum), "12345678"...)
	if !bytes.Equal(b, want) {
		t.Errorf("got  %q\nwant %q", b, want)
	}
}

// A frame of text has the same bytes whether it is the first of its sink or a later one,
// except for its ordinal.
func TestTextFrames(t *testing.T) {
	var out bytes.Buffer
	s := newJournalSink(&out, fileMetadata{})
	var frames [][]byte
	for range 2 {
		if err := s.writeText(frameBegin, []byte(`{"experiments":[{}]}`)); err != nil {
			t.Fatal(err)
		}
		if len(frames) == 0 {
			out.Next(frameLen(t, out.Bytes())) // the schema
		}
		frames = append(frames, bytes.Clone(out.Next(out.Len())))
		if err := JournalFrame(frames[len(frames)-1]).Renumber(1); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(frames[0], frames[1]) {
		t.Errorf("frames of one text:\n%q\n%q", frames[0], frames[1])
	}
	rows := newBatch(s.schema, nil)
	if err := rows.add(&export.Request{}); err != nil {
		t.Fatal(err)
	}
	rows.setLevel(0, &export.Experiment{Value: "1"})
	if _, err := s.write(rows); err != nil {
		t.Fatal(err)
	}
	if err := s.writeText(frameBegin, []byte(`{"experiments":[{}]}`)); err != nil {
		t.Fatal(err)
	}
	out.Next(frameLen(t, out.Bytes())) // the rows
	last := JournalFrame(out.Bytes())
	if err := last.Renumber(1); err != nil || !bytes.Equal(last, frames[0]) {
		t.Errorf("after rows: %v,\n%q, want\n%q", err, last, frames[0])
	}
}

// A file on disk: what was flushed is there before Close, and Sync syncs.
func TestJournalFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.journal.arrows")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := &syncer{File: f}
	j, err := NewJournalWriter(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	res := requests(3)
	if err := j.BeginExperiment("concurrency", "1"); err != nil {
		t.Fatal(err)
	}
	empty := j.BufferedBytes()
	for _, r := range res.requests {
		if err := j.WriteRequest(r); err != nil {
			t.Fatal(err)
		}
	}
	if j.BufferedBytes() <= empty || j.w.batch.rows != 3 {
		t.Errorf("%d bytes, %d requests are buffered", j.BufferedBytes(), j.w.batch.rows)
	}
	if err := j.Sync(); err != nil || d.syncs != 1 {
		t.Errorf("%v, %d syncs", err, d.syncs)
	}
	if j.BufferedBytes() != empty || j.w.batch.rows != 0 {
		t.Errorf("%d bytes, %d requests are buffered after a flush", j.BufferedBytes(), j.w.batch.rows)
	}
	o := export.Opener{Formats: Formats()}
	r, err := o.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(r)
	var cut *export.CutError
	if !errors.As(err, &cut) || len(got.requests) != 3 {
		t.Errorf("%d requests, %v", len(got.requests), err)
	}
	if err := errors.Join(j.EndExperiment(&export.Experiment{}), j.Close(nil), j.Close(nil), j.Flush()); err != nil {
		t.Error(err)
	}
}

type syncer struct {
	*os.File
	syncs int
}

func (s *syncer) Sync() error { s.syncs++; return s.File.Sync() }

// A journal is written in as many calls as it has frames, and none of it waits
// once it was flushed.
func TestJournalWrites(t *testing.T) {
	var c writeCounter
	j, err := NewJournalWriter(&c, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := c
	if err := errors.Join(j.BeginExperiment("m", "1"), j.Flush(), j.Flush()); err != nil {
		t.Fatal(err)
	}
	if c.calls != before.calls+1 {
		t.Errorf("%d calls for the start of an experiment and flushes of nothing", c.calls-before.calls)
	}
	j.w.batch.maxRows = 2
	for _, r := range requests(5).requests {
		if err := j.WriteRequest(r); err != nil {
			t.Fatal(err)
		}
	}
	if c.calls != before.calls+3 || j.w.batch.rows != 1 {
		t.Errorf("%d calls, %d requests wait", c.calls-before.calls, j.w.batch.rows)
	}
}

type writeCounter struct{ calls, bytes int }

func (c *writeCounter) Write(b []byte) (int, error) {
	c.calls++
	c.bytes += len(b)
	return len(b), nil
}

var _ io.Writer = (*writeCounter)(nil)

// Frames get other ordinals, also the last one, which the end of the stream follows; what is
// no frame is refused. A journal without a frame reads again when the later ones are
// renumbered, and a note is a warning of its run.
func TestJournalFrame(t *testing.T) {
	rec := record(t)
	var frames []JournalFrame
	for rest := rec.data; len(rest) > 0; {
		n := frameLen(t, rest)
		if n == len(rest)-len(endOfStream) {
			n = len(rest)
		}
		frames, rest = append(frames, bytes.Clone(rest[:n])), rest[n:]
	}
	var without []byte
	lost, at := 0, uint64(0)
	for i, f := range frames {
		if i > 2 && f.HoldsRows() && lost == 0 {
			lost++
			continue
		}
		if i == len(frames)-1 {
			var note bytes.Buffer
			if err := AppendNote(&note, at, "requests lost: 2"); err != nil {
				t.Fatal(err)
			}
			without = append(without, note.Bytes()...)
			at++
		}
		if err := f.Renumber(at); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		at++
		without = append(without, f...)
	}
	got, err := readBytes(testFormats[2], without, export.Limits{})
	if err != nil || len(got.requests) == 0 || len(got.requests) >= len(rec.requests) {
		t.Fatalf("%v, %d requests; want some of %d", err, len(got.requests), len(rec.requests))
	}
	if w := got.run.Meta.Warnings; len(w) != 1 || w[0] != "requests lost: 2" || *got.run.Version != "2" {
		t.Errorf("warnings %q of version %s, want the note", w, *got.run.Version)
	}
	for _, bad := range []JournalFrame{nil, frames[0][:20], frames[0][:len(frames[0])-1], bytes.Repeat([]byte{0xff}, 100), JournalFrame(strings.Repeat("\xff\xff\xff\xff\x28\x00\x00\x00", 9))} {
		if err := bad.Renumber(1); err == nil || bad.HoldsRows() {
			t.Errorf("%.40q is taken for a frame", bad)
		}
	}
	if err := AppendNote(io.Discard, 0, "x"); err == nil {
		t.Error("a note was added to a journal without a frame")
	}
}
