package export_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// document returns an export of n requests.
func document(n int) []byte {
	requests := make([]string, n)
	for i := range requests {
		requests[i] = `{"timestamp":1,"response_timestamps":[2,3]}`
	}
	return []byte(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + strings.Join(requests, ",") + `]}],"version":"1"}`)
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	return w.EncodeAll(data, nil)
}

// open writes data to a file and opens it; count is the number of requests.
func open(t *testing.T, o *export.Opener, data []byte) (count int, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Formats = []export.Format{profilejson.Format{}}
	o.TempDir = t.TempDir()
	r, err := o.Open(context.Background(), path)
	if err == nil {
		for r.Next() {
			count++
		}
		err = r.Err()
		if e := r.Close(); e != nil {
			t.Errorf("Close: %v", e)
		}
	}
	if left, e := os.ReadDir(o.TempDir); e != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v, %v", left, e)
	}
	return count, err
}

func TestOpen(t *testing.T) {
	doc := document(1000)
	gz, zs := gzipped(t, doc), zstded(t, doc)
	badSum := bytes.Clone(gz)
	badSum[len(badSum)-5] ^= 1
	damaged := fmt.Sprintf("run.json: damaged after %d bytes of content: ", len(doc))
	skippable := append([]byte{0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 'h', 'i'}, zs...)
	for _, tt := range []struct {
		name  string
		data  []byte
		count int // -1: some, but not all
		err   []string
	}{
		{"plain", doc, 1000, nil},
		{"BOM", append([]byte("\ufeff"), doc...), 1000, nil},
		{"gzip", gz, 1000, nil},
		{"gzip in two members", append(gzipped(t, doc[:500]), gzipped(t, doc[500:])...), 1000, nil},
		{"zstd", zs, 1000, nil},
		{"zstd behind a skippable frame", skippable, 1000, nil},
		{"edge: empty", nil, 0, []string{"run.json: is empty (0 bytes): perf_analyzer leaves such a file when an output holds NaN or infinity; record the run again"}},
		{"edge: empty gzip", gzipped(t, nil), 0, []string{"is empty (0 bytes)"}},
		{"space only", []byte(" \n "), 0, []string{`run.json: not an export: expected a JSON object with "experiments", found only white space`}},
		{"another JSON", []byte(`{"records": [1, 2, 3]}`), 0, []string{`found a JSON object with the content "{\"records\": [1, 2, 3]}"`}},
		{"an array", []byte(`[` + strings.Repeat(`1,`, 100)), 0, []string{`found a JSON array that starts with "[1,1,`}},
		{"text", []byte("hello"), 0, []string{`found a file with the content "hello"`}},
		{"UTF-16", []byte("\xff\xfe{\x00}\x00"), 0, []string{"found text in UTF-16; save the file as UTF-8"}},
		{"UTF-16 without a mark", []byte("\x00{\x00}"), 0, []string{"found text in UTF-16; save the file as UTF-8"}},
		{"xz", []byte("\xfd7zXZ\x00\x00\x04"), 0, []string{"found xz data; decompress the file first, with xz -d"}},
		{"SQLite", []byte("SQLite format 3\x00\x10\x00"), 0, []string{"found an SQLite database; EvalScope and AISBench write their figures into the JSON files beside it"}},
		{"compressed twice", gzipped(t, zs), 0, []string{"found zstd data within the compressed file"}},
		{"cut", doc[:1000], 21, []string{"run.json: cut short at byte 1000, inside experiment 0, request 21"}},
		{"gzip cut", gz[:len(gz)-len(gz)/3], -1, []string{"cut short at byte", "run.json is damaged there: gzip: unexpected EOF"}},
		{"gzip cut in the checksum", gz[:len(gz)-3], 1000, []string{damaged + "gzip: unexpected EOF"}},
		{"gzip with a wrong checksum", badSum, 1000, []string{damaged + "gzip: invalid checksum"}},
		{"gzip with more behind", append(bytes.Clone(gz), "trash and more"...), 1000, []string{damaged + "gzip: invalid header"}},
		{"gzip header only", gz[:10], 0, []string{"run.json: cannot be read: gzip: unexpected EOF"}},
		{"gzip header cut", gz[:5], 0, []string{"run.json: gzip: unexpected EOF"}},
		{"zstd cut", zs[:len(zs)-2], -2, []string{"unexpected EOF"}},
		{"zstd magic only", []byte{0x28, 0xB5, 0x2F, 0xFD}, 0, []string{"cannot be read: zstd: "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, err := open(t, &export.Opener{}, tt.data)
			switch {
			case tt.count == -1:
				if n == 0 || n == 1000 {
					t.Errorf("%d requests, want some of 1000", n)
				}
			case tt.count >= 0 && n != tt.count:
				t.Errorf("%d requests, want %d", n, tt.count)
			}
			if (err == nil) != (tt.err == nil) {
				t.Fatalf("err = %v, want %q", err, tt.err)
			}
			for _, want := range tt.err {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v, want %q in it", err, want)
				}
			}
		})
	}
}

// The message about an empty file speaks of perf_analyzer only where that may have written it.
func TestOpenEmpty(t *testing.T) {
	for name, want := range map[string]string{
		"run.json": "perf_analyzer", "RUN.JSON": "perf_analyzer",
		"shard.parquet": "nothing was written or copied to it", "run.journal": "nothing was written or copied to it",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		o := export.Opener{}
		if _, err := o.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), name+": is empty (0 bytes): "+want) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// The error of a file that cannot be opened is one line, and no error of closing the file twice.
func TestOpenErrorsOnce(t *testing.T) {
	doc := document(1)
	for name, data := range map[string][]byte{
		"gzip of nothing": gzipped(t, nil), "gzip in gzip": gzipped(t, gzipped(t, doc)), "other content": gzipped(t, []byte("x")),
		"plain text": []byte("x"), "gzip header": gzipped(t, doc)[:5], "zstd header": zstded(t, doc)[:4],
	} {
		_, err := open(t, &export.Opener{}, data)
		if err == nil || strings.Contains(err.Error(), "\n") || errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: error %v, want one of one line", name, err)
		}
	}
}

// The number of requests that were left out is known through any wrapper.
func TestOpenSkipped(t *testing.T) {
	doc := []byte(`{"experiments":[{"requests":[{"timestamp":"x"},{"timestamp":1}]}]}`)
	for name, data := range map[string][]byte{"plain": doc, "gzip": gzipped(t, doc)} {
		o := export.Opener{Formats: []export.Format{profilejson.Format{}}, Stdin: bytes.NewReader(data)}
		r, err := o.Open(context.Background(), "-")
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
		}
		if counted, excluded := r.Skipped(0); counted != 1 || excluded != 0 {
			t.Errorf("%s: %d and %d left out, want 1 and 0", name, counted, excluded)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A damaged archive whose content breaks off is a cut file to callers.
func TestOpenCutArchive(t *testing.T) {
	gz := gzipped(t, document(1000))
	_, err := open(t, &export.Opener{}, gz[:len(gz)/2])
	var cut *export.CutError
	if !errors.As(err, &cut) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("err = %v", err)
	}
}

// A small file that would fill the disk is given up.
func TestOpenBomb(t *testing.T) {
	content := []byte(`{"experiments":[` + strings.Repeat("0,", 2<<20))
	for name, data := range map[string][]byte{"gzip": gzipped(t, content), "zstd": zstded(t, content)} {
		_, err := open(t, &export.Opener{MaxSpoolBytes: 1 << 20}, data)
		if want := "holds more than 1048576 bytes of content; decompress it to a file and give that"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	o := export.Opener{Formats: []export.Format{profilejson.Format{}}, TempDir: dir}
	missing := filepath.Join(dir, "no.json")
	_, err := o.Open(context.Background(), missing)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "; check the path") {
		t.Errorf("missing: %v", err)
	}
	_, err = o.Open(context.Background(), dir)
	if err == nil || !strings.HasPrefix(err.Error(), dir+": is a directory without a result file (profile_export.json, ") {
		t.Errorf("directory: %v", err)
	}
	_, err = o.Open(context.Background(), "-")
	if err == nil || !strings.Contains(err.Error(), "there is no standard input") {
		t.Errorf("no stdin: %v", err)
	}
}

// A name with a * finds the file of one run in a folder, not of several.
func TestResultFilePattern(t *testing.T) {
	dir := t.TempDir()
	for _, step := range []struct{ name, want, err string }{
		{"a_summary.json", "", "is a directory without a result file"},
		{"benchmark_summary.json", "benchmark_summary.json", ""},
		{"a_individual_responses.json.gz", "a_individual_responses.json.gz", ""},
		{"b_individual_responses.json", "", "the folder holds 2 *_individual_responses.json files, such as a_individual_responses.json.gz; give the files of the runs to read"},
		{"benchmarks.json", "benchmarks.json", ""},
	} {
		if err := os.WriteFile(filepath.Join(dir, step.name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		path, err := export.ResultFile(dir)
		if step.err == "" && (err != nil || path != filepath.Join(dir, step.want)) || step.err != "" && (err == nil || !strings.Contains(err.Error(), step.err)) {
			t.Errorf("with %s: %s, %v; want %s, %q", step.name, path, err, step.want, step.err)
		}
	}
}

func TestOpenStdin(t *testing.T) {
	broken := errors.New("the other end is gone")
	for _, tt := range []struct {
		name  string
		in    io.Reader
		count int
		err   string
	}{
		{"plain", bytes.NewReader(document(3)), 3, ""},
		{"byte by byte", iotest.OneByteReader(bytes.NewReader(document(3))), 3, ""},
		{"gzip", bytes.NewReader(gzipped(t, document(3))), 3, ""},
		{"edge: empty", strings.NewReader(""), 0, "stdin: is empty (0 bytes); check the command before the pipe"},
		{"breaks", io.MultiReader(bytes.NewReader(document(3)[:170]), iotest.ErrReader(broken)), 2, "stdin is damaged there: the other end is gone"},
		{"broken", iotest.ErrReader(broken), 0, "read stdin: the other end is gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := export.Opener{Formats: []export.Format{profilejson.Format{}}, TempDir: t.TempDir(), Stdin: tt.in}
			n := 0
			r, err := o.Open(context.Background(), "-")
			if err == nil {
				for r.Next() {
					n++
				}
				err = r.Err()
				if e := r.Close(); e != nil {
					t.Errorf("Close: %v", e)
				}
			}
			if n != tt.count || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d requests, err = %v; want %d, %q", n, err, tt.count, tt.err)
			}
		})
	}
}

func TestOpenContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := export.Opener{Formats: []export.Format{profilejson.Format{}}, TempDir: t.TempDir(), Stdin: bytes.NewReader(document(3))}
	if _, err := o.Open(ctx, "-"); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

func TestOpenTempDir(t *testing.T) {
	o := export.Opener{Formats: []export.Format{profilejson.Format{}}, TempDir: filepath.Join(t.TempDir(), "absent"), Stdin: bytes.NewReader(document(3))}
	if _, err := o.Open(context.Background(), "-"); err == nil || !strings.Contains(err.Error(), "stdin: has to be copied to be read") {
		t.Errorf("err = %v", err)
	}
}

// A Reader that was read begins again with the first request, whatever was read before, and says each
// warning once.
func TestReadAgain(t *testing.T) {
	doc := []byte(`{"experiments":[{"requests":[{"timestamp":"x"},{"timestamp":1,"response_timestamps":[2]}],"window_boundaries":7},` +
		`{"requests":[{"timestamp":3,"response_timestamps":[4]},{"timestamp":5,"response_timestamps":[6]}]}]}`)
	o := export.Opener{Formats: []export.Format{profilejson.Format{}}, Stdin: bytes.NewReader(doc)}
	r, err := o.Open(t.Context(), "-")
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		rows := export.Read(r, export.Need{})
		for range n {
			rows.Next()
		}
		rows = export.Read(r, export.Need{})
		var starts []uint64
		var levels []int
		for rows.Next() {
			starts, levels = append(starts, rows.Row().Request.StartNS), append(levels, rows.Experiment())
		}
		if counted, _ := rows.Skipped(0); !slices.Equal(starts, []uint64{1, 3, 5}) || !slices.Equal(levels, []int{0, 1, 1}) || counted != 1 || len(rows.Warnings()) != 2 || rows.Err() != nil {
			t.Errorf("after %d requests: %v of levels %v, %d left out, warnings %v, %v", n, starts, levels, counted, rows.Warnings(), rows.Err())
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A startBatch keeps the start times of requests.
type startBatch struct{ starts []uint64 }

func (b *startBatch) Reset()              { b.starts = nil }
func (b *startBatch) Add(row *export.Row) { b.starts = append(b.starts, row.Request.StartNS) }

// Rows fill the batches themselves if the Reader gives single requests only: each has requests of one level,
// and all requests come once.
func TestOwnBatches(t *testing.T) {
	for _, counts := range [][]int{{}, {1}, {64}, {65}, {3, 64, 0, 200}} {
		all, want := &listReader{run: levels(len(counts))}, 0
		for level, n := range counts {
			all.levels = append(all.levels, slices.Repeat([]int{level}, n)...)
			want += n
		}
		got := make([]int, len(counts))
		rows := export.Read(all, export.Need{Batch: func() export.Batch { return &startBatch{} }})
		for rows.Next() {
			b := rows.Batch().(*startBatch)
			if len(b.starts) == 0 || len(b.starts) > 64 {
				t.Errorf("%v: a batch of %d", counts, len(b.starts))
			}
			got[rows.Experiment()] += len(b.starts)
		}
		if rows.Next() || !slices.Equal(got, counts) || all.at != want+1 {
			t.Errorf("%v: %v, Next was called %d times", counts, got, all.at)
		}
	}
}
