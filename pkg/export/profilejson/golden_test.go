package profilejson

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// rewrite reads all of r and writes it again.
func rewrite(t testing.TB, r export.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	run := r.Run()
	at := -1
	end := func() {
		if at >= 0 {
			if err := w.EndExperiment(&run.Experiments[at]); err != nil {
				t.Fatal(err)
			}
		}
	}
	to := func(i int) {
		for at < i {
			end()
			at++
			if err := w.BeginExperiment(run.Experiments[at].Mode, run.Experiments[at].Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for r.Next() {
		to(r.Experiment())
		if err := w.WriteRequest(r.Request()); err != nil {
			t.Fatal(err)
		}
	}
	to(len(run.Experiments) - 1)
	end()
	if err := w.Close(run); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// someExports returns one in stride of the golden exports. make test-long takes all;
// TestGoldenRewritten always does.
func someExports(t testing.TB, stride int) map[string][]byte {
	t.Helper()
	files, _ := golden.ProfileExports(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if i%testenv.Stride(stride) > 0 {
			delete(files, name)
		}
	}
	return files
}

func TestGoldenRewritten(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(context.Background(), name, bytes.NewReader(want), int64(len(want)), export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := rewrite(t, r)
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			if w := r.Warnings(); len(w) > 0 {
				t.Errorf("warnings: %v", w)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("rewritten: %s", golden.FirstDifference(got, want))
			}
		})
	}
}

// TestGoldenShuffled gives the order of members and the white space of the
// golden exports away; what is read must be the same.
func TestGoldenShuffled(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for name, want := range someExports(t, 2) {
		tree := parseTree(want)
		tree.shuffle(rng)
		data := tree.print(nil, rng)
		if bytes.Equal(data, want) {
			t.Fatal("nothing was changed")
		}
		r, err := NewReader(context.Background(), name, bytes.NewReader(data), int64(len(data)), export.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := rewrite(t, r); !bytes.Equal(got, want) || r.Err() != nil || len(r.Warnings()) > 0 {
			t.Errorf("%s: err = %v, warnings = %v, rewritten: %s", name, r.Err(), r.Warnings(), golden.FirstDifference(got, want))
		}
	}
}

// TestGoldenOpener reads them as a file, as gzip and zstd under wrong names,
// and from standard input.
func TestGoldenOpener(t *testing.T) {
	dir := t.TempDir()
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range someExports(t, 8) {
		for _, compressor := range []struct {
			w interface {
				io.WriteCloser
				Reset(w io.Writer)
			}
			to *bytes.Buffer
		}{{g, &gz}, {z, &zs}} {
			compressor.to.Reset()
			compressor.w.Reset(compressor.to)
			if _, err := compressor.w.Write(want); err != nil {
				t.Fatal(err)
			}
			if err := compressor.w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for i, data := range [][]byte{want, gz.Bytes(), zs.Bytes()} {
			file := filepath.Join(dir, "profile_export.json")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{file, "-"} {
				o := export.Opener{Formats: []export.Format{Format{}}, Stdin: bytes.NewReader(data), TempDir: dir}
				r, err := o.Open(context.Background(), p)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got := rewrite(t, r)
				if err := errors.Join(r.Err(), r.Close(), r.Close()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s: variant %d of %s: %s", name, i, p, golden.FirstDifference(got, want))
				}
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("temporary files left: %v, %v", left, err)
	}
}

// An oracleFile is the document as encoding/json reads it.
type oracleFile struct {
	Experiments []struct {
		Experiment struct {
			Mode  string
			Value json.Number
		}
		Requests []struct {
			Timestamp          uint64
			SequenceID         uint64           `json:"sequence_id"`
			RequestInputs      map[string]any   `json:"request_inputs"`
			ResponseTimestamps []uint64         `json:"response_timestamps"`
			ResponseOutputs    []map[string]any `json:"response_outputs"`
		}
		WindowBoundaries []uint64 `json:"window_boundaries"`
	}
	Version     *string
	ServiceKind *string `json:"service_kind"`
	Endpoint    *string
}

// checkOracle compares what the Reader and encoding/json make of data.
func checkOracle(t *testing.T, name string, data []byte, res *result) {
	t.Helper()
	var want oracleFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if diff := cmp.Diff([]*string{want.Version, want.ServiceKind, want.Endpoint},
		[]*string{res.run.Version, res.run.ServiceKind, res.run.Endpoint}); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	if len(res.run.Experiments) != len(want.Experiments) {
		t.Fatalf("%s: %d experiments, want %d", name, len(res.run.Experiments), len(want.Experiments))
	}
	next := 0
	for i, e := range want.Experiments {
		got := res.run.Experiments[i]
		if got.Mode != e.Experiment.Mode || got.Value != e.Experiment.Value.String() || !slices.Equal(got.WindowBoundaries, e.WindowBoundaries) {
			t.Errorf("%s: experiment %d: got %+v, want %+v", name, i, got, e.Experiment)
		}
		for k, w := range e.Requests {
			if next == len(res.requests) || res.level[next] != i {
				t.Fatalf("%s: experiment %d has %d requests, want %d", name, i, k, len(e.Requests))
			}
			g := res.requests[next]
			next++
			var times []uint64
			outputs := []map[string]any{}
			for _, x := range g.Responses {
				times = append(times, x.RecvNS)
				outputs = append(outputs, asMap(t, x.Outputs))
			}
			if g.NoOutputs {
				outputs = nil
			}
			if g.StartNS != w.Timestamp || g.SequenceID != w.SequenceID || !slices.Equal(times, w.ResponseTimestamps) {
				t.Fatalf("%s: experiment %d, request %d: times differ", name, i, k)
			}
			if diff := cmp.Diff(w.RequestInputs, asMap(t, g.Inputs)); diff != "" {
				t.Fatalf("%s: experiment %d, request %d: inputs (-want +got):\n%s", name, i, k, diff)
			}
			if diff := cmp.Diff(w.ResponseOutputs, outputs, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s: experiment %d, request %d: outputs (-want +got):\n%s", name, i, k, diff)
			}
		}
	}
	if next != len(res.requests) {
		t.Errorf("%s: %d requests, want %d", name, len(res.requests), next)
	}
}

func asMap(t *testing.T, f export.Fields) map[string]any {
	t.Helper()
	if f == nil {
		return nil
	}
	m := map[string]any{}
	for _, x := range f {
		if x.Value.Text {
			m[x.Name] = string(x.Value.Data)
			continue
		}
		d := json.NewDecoder(bytes.NewReader(x.Value.Data))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("value %q: %v", x.Value.Data, err)
		}
		m[x.Name] = v
	}
	return m
}

func TestGoldenOracle(t *testing.T) {
	clean := 0
	files := someExports(t, 9)
	for name, data := range files {
		if !utf8.Valid(data) {
			continue // encoding/json would change the strings
		}
		clean++
		res, err := readAll(data, jsonscan.DefaultChunk, export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		checkOracle(t, name, data, res)
	}
	if clean < len(files)*9/10 {
		t.Errorf("only %d files were compared", clean)
	}
}

// TestCut cuts a file at every byte: the requests that are whole are
// delivered, and the error says where the file ends.
func TestCut(t *testing.T) {
	files, _ := golden.ProfileExports(t)
	small := ""
	for name, data := range files {
		if bytes.Contains(data, []byte(`"response_outputs"`)) && (small == "" || len(data) < len(files[small])) {
			small = name
		}
	}
	for name, data := range map[string][]byte{small: files[small], "two levels and excluded": []byte(twoLevels)} {
		var ends []int
		for _, e := range parseTree(data).get("experiments").kids {
			for _, r := range e.get("requests").kids {
				ends = append(ends, r.end)
			}
			if pa := e.get("pa"); pa != nil {
				for _, r := range pa.get("excluded_requests").kids {
					ends = append(ends, r.end)
				}
			}
		}
		for n := range data {
			whole := 0
			for whole < len(ends) && ends[whole] <= n {
				whole++
			}
			res, err := readAll(data[:n], 4096, export.Limits{})
			if err != nil {
				t.Fatalf("%s: cut at %d: %v", name, n, err)
			}
			if len(res.requests) != whole {
				t.Fatalf("%s: cut at %d: %d requests, want %d", name, n, len(res.requests), whole)
			}
			if want := fmt.Sprintf("x.json: cut short at byte %d, inside ", n); !strings.HasPrefix(res.err, want) {
				t.Fatalf("%s: cut at %d: err = %s", name, n, res.err)
			}
			if len(res.warnings) > 0 {
				t.Fatalf("%s: cut at %d: %v", name, n, res.warnings)
			}
		}
	}
}

const twoLevels = `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` +
	`{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"a":"\"x\\"}],"pa":{"id":3}},{"timestamp":3,"response_timestamps":[]}],` +
	`"window_boundaries":[1,2],"pa":{"measured":2,"excluded_requests":[{"timestamp":5,"response_timestamps":[],"pa":{"phase":"warmup","reason":"warmup"}}]}},` +
	`{"experiment":{"mode":"concurrency","value":2},"requests":[{"timestamp":7,"response_timestamps":[8,9]}]}],"version":"1","pa":{"schema":"pa-export/1","tool":"x"}}`
