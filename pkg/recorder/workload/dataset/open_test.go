package dataset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// jsonl returns n rows of JSON Lines with prompts of about bytesEach bytes.
func jsonl(n, bytesEach int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"prompt\":\"%d %s\",\"max_tokens\":%d}\n", i, strings.Repeat("word ", bytesEach/5), i+1)
	}
	return b.String()
}

// TestAt checks that At returns the same entries in any order, also with rows of several
// entries or none.
func TestAt(t *testing.T) {
	for _, in := range []string{
		jsonl(100, 10),
		strings.Repeat(`{"turns":[{"text":"a"},{"text":"b"}]}`+"\n"+`{"turns":[{"text":"c"}]}`+"\n", 30),
		"Timestamp,Request tokens,Response tokens\n" + strings.Repeat("1,0,0\n2,3,4\n3,0,0\n", 30),
	} {
		s, err := open(t, "in", in, Options{Texts: numbered{}})
		if err != nil {
			t.Fatal(err)
		}
		want := all(t, s)
		if len(want) != s.Len() {
			t.Fatalf("%d entries, Len is %d", len(want), s.Len())
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 500 {
			k := r.IntN(len(want))
			if e, err := s.At(k); err != nil || describe(e) != want[k] {
				t.Fatalf("At(%d) = %s, %v; want %s", k, describe(e), err, want[k])
			}
		}
	}
}

// TestFiles checks that files of different formats are read in order, and that the hash is of
// the decompressed content.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, content []byte) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const text = "{\"prompt\":\"b\"}\n{\"prompt\":\"c\"}\n"
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{g, z} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put("1.json", []byte(`{"data":[{"payload":[{"prompt":"a"}]}]}`))
	put("2.jsonl.gz", gz.Bytes())
	put("3.csv", []byte("prompt\n,\n")[:0])
	put("3.csv", []byte("prompt,id\nd,1\n"))
	put("readme.txt", []byte("nothing"))
	if err := os.Mkdir(filepath.Join(dir, "4.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "renamed")
	if err := os.WriteFile(other, zs.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), []string{dir, other, "-"}, Options{Stdin: strings.NewReader(`{"prompt":"e"}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want := []string{`payload=[{"prompt":"a"}]`, `"b"`, `"c"`, `"d" +id="1"`, `"b"`, `"c"`, `"e"`}
	if diff := cmp.Diff(want, all(t, s)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	sum := sha256.Sum256([]byte(text))
	files := s.Files()
	if len(files) != 5 || files[1].SHA256 != hex.EncodeToString(sum[:]) || files[1].SHA256 != files[3].SHA256 || files[4].Name != "stdin" {
		t.Errorf("files %+v", files)
	}
	if _, err := Open(t.Context(), []string{t.TempDir()}, Options{}); err == nil || !strings.Contains(err.Error(), "no file in it ends in .json") {
		t.Errorf("an empty folder: %v", err)
	}
	cut := put("cut.json.gz", gz.Bytes()[:gz.Len()-12])
	if _, err := Open(t.Context(), []string{cut}, Options{}); err == nil || !strings.Contains(err.Error(), "damaged after") {
		t.Errorf("a truncated file: %v", err)
	}
}

// TestStreams checks that files without streams continue the first stream, and that files
// with streams add theirs.
func TestStreams(t *testing.T) {
	a := write(t, "a.json", `{"data":[{"I":[1]},{"I":[2]}]}`)
	b := write(t, "b.json", `{"data":[[{"I":[3]}],[],[{"I":[4]},{"I":[5]}]]}`)
	c := write(t, "c.json", `{"data":[{"I":[6]}]}`)
	s, err := Open(t.Context(), []string{a, b, c}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	for i := range s.Streams() {
		v := s.Stream(i)
		for k := range v.Len() {
			e, err := v.At(k)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d: %d/%d %s", i, e.Stream, e.Step, describe(e)))
		}
	}
	want := []string{"0: 0/0 I=[1]", "0: 0/1 I=[2]", "0: 0/0 I=[6]", "1: 1/0 I=[3]", "3: 3/0 I=[4]", "3: 3/1 I=[5]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

// TestFileChanges checks that At returns an error for a row that lost an entry since Open.
func TestFileChanges(t *testing.T) {
	p := write(t, "in", "{\"turns\":[{\"text\":\"a\"},{\"text\":\"b\"}]}\n")
	s, err := Open(t.Context(), []string{p}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(p, []byte("{\"turns\":[{\"text\":\"a\"}],\"x\":[      ]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := s.At(1); err == nil || !strings.Contains(err.Error(), "changed since") {
		t.Errorf("At = %s, %v", describe(e), err)
	}
}

// TestMemory checks that the memory of a Set does not grow with the size of the rows.
func TestMemory(t *testing.T) {
	rows := 2000 / testenv.Stride(4)
	for name, in := range map[string]string{
		"lines":    jsonl(rows, 4000),
		"document": `{"data":[{"payload":[{}]}` + strings.Repeat(`,{"payload":[{"prompt":"`+strings.Repeat("word ", 800)+`"}]}`, rows-1) + "]}",
		"table":    "prompt,id\n" + strings.Repeat(strings.Repeat("word ", 800)+",1\n", rows),
	} {
		t.Run(name, func(t *testing.T) {
			p := write(t, "in", in)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			s, err := Open(t.Context(), []string{p}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			runtime.GC()
			runtime.ReadMemStats(&after)
			if s.Len() != rows {
				t.Errorf("%d entries, want %d", s.Len(), rows)
			}
			// 16 bytes a row, one row, and buffers: less than an eighth of the file.
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > int64(len(in)/8) {
				t.Errorf("%d more bytes in memory for a file of %d bytes", grown, len(in))
			}
			runtime.KeepAlive(in)
		})
	}
}

// drainSource reads a file whose text is in.
func drainSource(t *testing.T, in string, o *Options) {
	s := &Set{ids: sessionIDs{}}
	src := &source{ReaderAt: strings.NewReader(in), name: "in", size: int64(len(in)), maxRow: o.MaxRowBytes, close: func() error { return nil }}
	if s.addSource(t.Context(), src, o) == nil {
		all(t, s)
	}
}

// openSeeds are files of all layouts.
var openSeeds = []string{
	`{"data":[{"B":[1],"A":["x"]},{"A":["y"]}],"validation_data":[{}]}`,
	`{"data":[[{"I":[1]}],[{"I":{"b64":"AA=="}}]]}`,
	`{"data":[{"session_id":"a","payloads":[{"prompt":"x"}]}]}`,
	"{\"prompt\":\"a\",\"max_tokens\":1}\n{\"messages\":[{\"role\":\"user\"}]}",
	"[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}]",
	"{\"timestamp\":1,\"input_length\":600,\"hash_ids\":[1,2]}\n",
	"{\"turns\":[{\"text\":\"a\"},{\"text\":\"b\",\"delay\":1}]}\n",
	"{\"rows\":[{\"row\":{\"question\":\"a\"}}]}",
	"Timestamp,Model,Request tokens,Response tokens\n1,a,2,3\n",
	"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,44\n",
	`{"session_id":"a","model":"m","input":[{"role":"user","content":"x"}],"output_length":20,"pre_gap":0.5}`,
	`{"timestamp":1760428258635837,"input":"q","output":"a","session_id":"s"}`,
	"{\"conversation_id\":\"c\",\"turn\":1,\"role\":\"user\",\"content\":\"a\"}\n{\"conversation_id\":\"c\",\"turn\":2,\"role\":\"assistant\",\"tool_calls\":[{}]}\n{\"conversation_id\":\"c\",\"turn\":3,\"role\":\"tool\",\"tool_results\":[{\"tool_call_id\":\"k\",\"content\":\"b\"}]}",
	`{"version":1,"task_id":"t","conversation_id":"t","conversation_idx":0,"messages":[{"role":"user"}],"simulated_tool_delay_ms_after":1}`,
	`{"conversations":[[{"messages":[{"role":"user"}]},{"messages":[{"role":"tool"}]}],[]]}`,
	`{"session_id":"a","round_index":0,"prefix_tokens":80,"newly_append_tokens":20,"output_tokens":9,"timing_events":[{"event_type":"text","timestamp":"2026-06-01T05:00:02.5Z"}],"tools":[{"tool_wall_latency_ms":5}]}`,
	"session_id,round_idx,prefix_len,input_len,output_len\n0,0,70,5,1\n0,1,9,5,1\n",
	`{"group":1,"stream":0,"prompt_len":9,"out_lens":[2,3],"obs_lens":[4,0],"tool_times":[1,0]}`,
	`{"num_turns":1,"input_prompt_length":3,"assistant_response_length":[1],"tool_call_output_length":[1],"tool_call_latency":[1],"final_assistant_response_length":1}`,
	"{\"request_id\":\"a\",\"output_length\":2,\"hash_ids\":[1]}\n{\"request_id\":\"b\",\"output_length\":2,\"hash_ids\":[1],\"wait_for\":[\"a\"]}",
	`{"timestamp_start_unix_ms":1,"prompt":"a","input_tokens":1,"output_tokens":1,"provided_session_id":"s"}`,
	`{"question_id":81,"turns":["a","b"]}`,
	"prompt,id\n\"a\nb\",1\n",
	"{\"session_id\":\"p\",\"turns\":[{\"messages\":[{\"role\":\"user\"}],\"spawns\":[\"k\",{\"children\":[\"k\"],\"background\":true}],\"forks\":[\"f\"]},{\"messages\":[],\"delay\":2}]}\n{\"session_id\":\"k\",\"turns\":[{\"messages\":[{\"role\":\"user\"}]}]}\n{\"session_id\":\"f\",\"orchestrator\":true,\"rounds\":2,\"spawns\":[\"k\"]}",
	"{\"spans\":[{\"trace_id\":\"t\",\"start_time\":\"2026-01-05T10:00:00Z\",\"end_time\":\"2026-01-05T10:00:01Z\",\"attributes\":{\"gen_ai.input.messages\":\"[{\\\"role\\\":\\\"user\\\",\\\"parts\\\":[{\\\"type\\\":\\\"text\\\",\\\"content\\\":\\\"a\\\"}]}]\"}}]}",
	"{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\",\"event_time_unix_ms\":9,\"agent_context\":{\"session_id\":\"s\"},\"request\":{\"input_tokens\":600,\"output_tokens\":1}}",
	"{\"trace_id\":\"r\",\"events\":[{\"event_type\":\"message\",\"conversation_id\":0,\"role\":\"user\",\"tokens\":4},{\"event_type\":\"parallel_start\",\"num_branches\":1},{\"event_type\":\"parallel_end\"},{\"event_type\":\"message\",\"conversation_id\":0,\"role\":\"assistant\",\"completion_tokens\":4}]}",
	"{\"kind\":\"graph\",\"nodes\":{\"a\":{\"output\":\"h\",\"prompt\":[\"@h\"]},\"b\":{\"output\":\"x\",\"prompt\":[{\"role\":\"user\",\"content\":[\"@h\"]}],\"inputs\":[{\"channel\":\"h\"}]}}}\n{\"kind\":\"trace\",\"id\":\"t\",\"initial_state\":{\"h\":[{\"role\":\"user\"}]}}",
	"graph:\n  nodes: {a: {output: x, prompt: [{role: user, content: &q q}]}}\ntraces:\n- id: *q\n",
	`{"id":"a","block_size":4,"system_tokens":5,"requests":[{"t":0,"in":9,"out":5,"hash_ids":[1,2],"api_time":1},{"t":2,"type":"subagent","duration_ms":5,"requests":[{"t":0,"in":1}]},{"t":3,"in":9,"hash_ids":[1]}]}`,
	"{\"session_id\":\"a\",\"input_length\":600,\"hash_ids\":[1,2]}\n{\"session_id\":\"a\",\"input_length\":7,\"hash_ids\":[1]}\n",
	"{\"session_id\":\"a\",\"message_mode\":\"delta\",\"messages\":[{\"role\":\"user\"}]}\n{\"session_id\":\"a\",\"payload\":{\"a\":1},\"extra\":{\"b\":2},\"delay\":5}\n",
	"{\"chat_id\":1,\"parent_chat_id\":-1,\"input_length\":6,\"turn\":1}\n{\"chat_id\":2,\"parent_chat_id\":1,\"input_length\":7,\"timestamp\":3}\n",
}

// FuzzOpen checks that any file is read or gives an error of one line that names the file, and
// that a second reading gives the same entries.
func FuzzOpen(f *testing.F) {
	for _, in := range openSeeds {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, sessions := range []bool{false, true} {
			fuzzOpen(t, in, sessions)
		}
	})
}

func fuzzOpen(t *testing.T, in string, sessions bool) {
	const most = 1 << 16
	o := Options{Texts: numbered{}, Count: words, MaxRowBytes: most, MaxSessionRequests: 1000, Sessions: sessions}
	testenv.BoundMemory(t, len(in), 4<<20, 2000, func() { drainSource(t, in, &o) })
	s := &Set{ids: sessionIDs{}}
	src := &source{ReaderAt: strings.NewReader(in), name: "in", size: int64(len(in)), maxRow: most, close: func() error { return nil }}
	if err := s.addSource(t.Context(), src, &o); err != nil {
		if msg := err.Error(); strings.Contains(msg, "\n") || !strings.HasPrefix(msg, "in: ") {
			t.Fatalf("%q: error %q, want a line that names the file", in, msg)
		}
		return
	}
	if sessions, ok := s.AsSessions(); ok && len(s.files) > 0 {
		checkGraphs(t, in, sessions)
	}
	first := all(t, s)
	if len(first) != s.Len() {
		t.Fatalf("%q: %d entries, Len is %d", in, len(first), s.Len())
	}
	if again := all(t, s); !slices.Equal(first, again) {
		t.Fatalf("%q: first %q, then %q", in, first, again)
	}
}

func BenchmarkOpen(b *testing.B) {
	in := jsonl(5000, 2000)
	p := write(b, "in", in)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(b.Context(), []string{p}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkAt(b *testing.B) {
	in := jsonl(5000, 2000)
	s, err := open(b, "in", in, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(in) / 5000))
	b.ReportAllocs()
	k := 0
	for b.Loop() {
		if _, err := s.At(k * 7919 % 5000); err != nil {
			b.Fatal(err)
		}
		k++
	}
}

// TestMaxRows checks that Options.MaxRows counts the rows of all files, of any format.
func TestMaxRows(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1.jsonl": "{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\n",
		"2.json":  `{"rows":[{"row":{"prompt":"c"}},{"row":{"prompt":"d"}}]}`,
		"3.csv":   "prompt,id\nnever read,x\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := []string{`"a"`, `"b"`, `"c"`, `"d"`}
	for n := 1; n <= len(whole); n++ {
		s, err := Open(t.Context(), []string{dir}, Options{MaxRows: n})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole[:n], all(t, s)); diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", n, diff)
		}
		read := 0
		for _, f := range s.Files() {
			read += f.Rows
		}
		if read != n {
			t.Errorf("%d rows were read, want %d", read, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	s, err := Open(t.Context(), []string{"testdata/openorca.parquet"}, Options{MaxRows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Len(); n != 3 {
		t.Errorf("3 rows of a Parquet file: %d", n)
	}
}

func TestOpenReader(t *testing.T) {
	s, err := OpenReader(t.Context(), "the name", strings.NewReader("{\"prompt\":\"a\"}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Files(); s.Len() != 1 || f[0].Name != "the name" || len(f[0].SHA256) != 64 {
		t.Errorf("%d entries of %+v", s.Len(), f)
	}
	for text, want := range map[string]string{
		"":                 "the name: is empty (0 bytes)",
		"[]":               "the name: no request in it",
		"{\"prompt\":1}\n": "the name: line 1: ",
	} {
		if _, err := OpenReader(t.Context(), "the name", strings.NewReader(text), Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := OpenReader(t.Context(), "x", strings.NewReader(""), Options{MaxRows: -1}); err == nil || !strings.Contains(err.Error(), "must be at least 1") {
		t.Errorf("-1 rows: %v", err)
	}
}
