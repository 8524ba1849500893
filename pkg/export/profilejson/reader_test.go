package profilejson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
)

// A result is all that a Reader says about a document.
type result struct {
	run      *export.Run
	requests []*export.Request
	level    []int // experiment of each request
	warnings []string
	err      string
}

// readAll reads data through a window of chunk bytes at first.
func readAll(data []byte, chunk int, lim export.Limits) (*result, error) {
	r, err := newReader(context.Background(), "x.json", bytes.NewReader(data), int64(len(data)), lim, chunk)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	res := &result{run: r.Run()}
	for r.Next() {
		res.requests = append(res.requests, r.Request().Clone())
		res.level = append(res.level, r.Experiment())
	}
	for _, w := range r.Warnings() {
		res.warnings = append(res.warnings, w.String())
	}
	if r.Err() != nil {
		res.err = r.Err().Error()
	}
	if r.Next() || r.Request() != nil {
		return nil, errors.New("a request after the end")
	}
	return res, nil
}

func mustRead(t testing.TB, data string) *result {
	t.Helper()
	res, err := readAll([]byte(data), jsonscan.DefaultChunk, export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// one wraps the text of requests in a document.
func one(requests string) string {
	return `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[` + requests +
		`],"window_boundaries":[1,9]}],"version":"","service_kind":"triton","endpoint":""}`
}

// show prints what a request has in short, for tables.
func show(r *export.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", r.StartNS)
	if r.SequenceID != 0 {
		fmt.Fprintf(&b, " seq%d", r.SequenceID)
	}
	if r.Inputs != nil {
		fmt.Fprintf(&b, " in%s", showFields(r.Inputs))
	}
	for i := range r.Responses {
		x := &r.Responses[i]
		fmt.Fprintf(&b, " %d", x.RecvNS)
		if x.Outputs != nil {
			b.WriteString(showFields(x.Outputs))
		}
	}
	if r.NoOutputs {
		b.WriteString(" none")
	}
	if r.Extra != nil {
		fmt.Fprintf(&b, " extra%s", showFields(r.Extra))
	}
	if x := r.Excluded(); x != "" {
		b.WriteString(" " + string(x))
	}
	return b.String()
}

func showFields(f export.Fields) string {
	var s []string
	for _, x := range f {
		if x.Value.Text {
			s = append(s, fmt.Sprintf("%s=%q", x.Name, x.Value.Data))
		} else {
			s = append(s, fmt.Sprintf("%s=%s", x.Name, x.Value.Data))
		}
	}
	return "{" + strings.Join(s, ",") + "}"
}

func TestReaderRequests(t *testing.T) {
	for _, tt := range []struct {
		name     string
		requests string
		want     []string
		warnings []string // in part
	}{
		{"none", ``, nil, nil},
		{"23.09: no inputs, no outputs", `{"timestamp":1,"response_timestamps":[2,3]}`, []string{"1 2 3 none"}, nil},
		{
			"24.03: outputs with a length prefix", `{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"text_output":"\u0002\u0000\u0000\u0000hi"}]}`,
			[]string{`1 2{text_output="\x02\x00\x00\x00hi"}`},
			nil,
		},
		{
			"2.60: all types, order and number text kept",
			`{"timestamp":1,"sequence_id":7,"request_inputs":{"z":18446744073709551615,"a":-9223372036854775808,"f":0.10000000149011612,"e":1e-7,"b":true,"n":null,"v":[1,-2,3],"s":"a\/b"},` +
				`"response_timestamps":[2],"response_outputs":[{"o":[true,false],"p":""}]}`,
			[]string{`1 seq7 in{z=18446744073709551615,a=-9223372036854775808,f=0.10000000149011612,e=1e-7,b=true,n=null,v=[1,-2,3],s="a/b"} 2{o=[true,false],p=""}`},
			nil,
		},
		{"edge: the largest times", `{"timestamp":18446744073709551615,"response_timestamps":[18446744073709551615,0]}`, []string{"18446744073709551615 18446744073709551615 0 none"}, nil},
		{"edge: no responses", `{"timestamp":1,"response_timestamps":[],"response_outputs":[]}`, []string{"1"}, nil},
		{"edge: empty objects are not absent", `{"timestamp":1,"request_inputs":{},"response_timestamps":[2],"response_outputs":[{}]}`, []string{"1 in{} 2{}"}, nil},
		{"edge: nulls are absent", `{"timestamp":1,"request_inputs":null,"response_timestamps":null,"response_outputs":null}`, []string{"1 none"}, nil},
		{"a null output", `{"timestamp":1,"response_timestamps":[2,3],"response_outputs":[null,{"a":null}]}`, []string{"1 2 3{a=null}"}, nil},
		{"no response_timestamps", `{"timestamp":1}`, []string{"1 none"}, nil},
		{
			"any order, any space",
			" {\n\t\"response_outputs\" : [ { \"a\" : [ 1 , 2 ] } , { \"a\" : \" \" } ] ,\r\n \"response_timestamps\" : [ 2 , 3 ] , \"request_inputs\" : { \"x\" : { \"y\" : [ ] } } , \"timestamp\" : 1 } ",
			[]string{`1 in{x={"y":[]}} 2{a=[1,2]} 3{a=" "}`},
			nil,
		},
		{"escapes in our names", `{"time\u0073tamp":1,"response\u005ftimestamps":[2]}`, []string{"1 2 none"}, nil},
		{"bytes that are no UTF-8", "{\"timestamp\":1,\"request_inputs\":{\"\xff\":\"\xfe\\n\xc3\"},\"response_timestamps\":[]}", []string{"1 in{\xff=\"\\xfe\\n\\xc3\"} none"}, nil},
		{"unknown members are kept", `{"timestamp":1,"x":[1, 2],"response_timestamps":[],"y":"\u0041"}`, []string{`1 none extra{x=[1,2],y="A"}`}, nil},
		{"the same name twice in outputs is data", `{"timestamp":1,"response_timestamps":[2],"response_outputs":[{"a":1,"a":2}]}`, []string{"1 2{a=1,a=2}"}, nil},
		{
			"fewer timestamps than outputs", `{"timestamp":1,"response_timestamps":[2,3,4],"response_outputs":[{"a":1},{"a":2},{"a":3},{"a":4}]}`,
			[]string{"1 2{a=1} 3{a=2} 4{a=3}"},
			[]string{"experiment 0, request 0: 3 timestamps but 4 outputs"},
		},
		{
			"fewer outputs than timestamps, outputs first", `{"response_outputs":[{"a":1}],"response_timestamps":[2,3],"timestamp":1}`,
			[]string{"1 2{a=1} 3"},
			[]string{"2 timestamps but 1 outputs"},
		},
		{"a member twice", `{"timestamp":1,"response_timestamps":[2,3],"timestamp":5,"response_timestamps":[4]}`, []string{"5 4 none"}, []string{`member "response_timestamps" is there twice; the last one counts`}},
		{"an output that is no object", `{"timestamp":1,"response_timestamps":[2],"response_outputs":["hi"]}`, []string{`1 2{="hi"}`}, []string{"an output is not an object"}},
		{
			"rows of wrong types are left out, counted, the first located",
			`{"timestamp":1},{"timestamp":-2},{"timestamp":2.5},{"timestamp":"3"},{"timestamp":18446744073709551616},{"timestamp":null},{},null,7,{"timestamp":9.0}`,
			[]string{"1 none", "9 none"},
			[]string{`x.json: byte 104: experiment 0, request 1: member "timestamp": expected an integer from 0 to 18446744073709551615, found "-2"; requests like this are left out (and 7 more)`},
		},
		{"timestamp missing", `{"response_timestamps":[1]}`, nil, []string{`byte 75: experiment 0, request 0: member "timestamp" is missing`}},
		{"wrong response_timestamps", `{"timestamp":1,"response_timestamps":{"a":1}},{"timestamp":1,"response_timestamps":[1,-1]}`, nil, []string{`member "response_timestamps": expected an array of integers from 0 to 18446744073709551615, found "{\"a\":1}"; requests like this are left out (and 1 more)`}},
		{"integers written as floats", `{"timestamp":1.0,"sequence_id":3e0,"response_timestamps":[2e18,30e-1]}`, []string{"1 seq3 2000000000000000000 3 none"}, nil},
		{
			"members that are no times are absent when they are wrong, each with its place", `{"timestamp":1,"response_timestamps":[2],"response_outputs":5},{"timestamp":3,"request_inputs":[1]},{"timestamp":4,"sequence_id":"a"}`,
			[]string{"1 2 none", "3 none", "4 none"},
			[]string{`x.json: byte 135: experiment 0, request 0: member "response_outputs": expected an array, found "5"; the request is read without it (and 2 more)`},
		},
		{"wrong inputs", `{"timestamp":1,"request_inputs":[],"response_timestamps":[2]}`, []string{"1 2 none"}, []string{`member "request_inputs": expected an object, found "[]"; the request is read without it`}},
		{"wrong sequence_id", `{"timestamp":1,"sequence_id":"a"}`, []string{"1 none"}, []string{`member "sequence_id": expected an integer`}},
		{"wrong pa", `{"timestamp":1,"pa":[]}`, []string{"1 none"}, []string{`member "pa": expected an object`}},
		{"wrong member of pa, the others count", `{"timestamp":1,"pa":{"turn":1.5,"status":"timeout"}}`, []string{"1 none failed"}, []string{`member "turn": expected an integer of 64 bits, found "1.5"`}},
		{"wrong lists of pa", `{"timestamp":1,"response_timestamps":[2],"pa":{"reads":[0,"x",7],"final":{},"errors":[-1],"sources":5}}`, []string{"1 2 none"}, []string{`member "reads": expected an array of integers from 0 to 4294967295, found "\"x\""`}},
		{"a wrong status says nothing", `{"timestamp":1,"pa":{"status":5,"phase":[]}}`, []string{"1 none"}, []string{`member "status": expected a string`}},
		{"wrong times beside other wrong members", `{"timestamp":-1,"sequence_id":"a"}`, nil, []string{`member "timestamp"`}},
		{"unknown member of pa", `{"timestamp":1,"pa":{"new":[1]}}`, []string{"1 none"}, []string{`unknown member "new"`}},
		{"unknown status", `{"timestamp":1,"pa":{"status":"tired"}}`, []string{"1 none"}, []string{`unknown status "tired"`}},
		{"reads do not fit", `{"timestamp":1,"response_timestamps":[2],"pa":{"reads":[0,0],"final":[3]}}`, []string{"1 2 none"}, []string{`member "final" names response 3 of 1`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustRead(t, one(tt.requests))
			var got []string
			for _, r := range res.requests {
				got = append(got, show(r))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("requests (-want +got):\n%s", d)
			}
			if res.err != "" {
				t.Errorf("err: %s", res.err)
			}
			if len(res.warnings) != len(tt.warnings) {
				t.Fatalf("warnings: %q", res.warnings)
			}
			for i, w := range tt.warnings {
				if !strings.Contains(res.warnings[i], w) {
					t.Errorf("warning %q, want %q in it", res.warnings[i], w)
				}
			}
		})
	}
}

func TestReaderDocuments(t *testing.T) {
	const req = `{"timestamp":1,"response_timestamps":[2]}`
	for _, tt := range []struct {
		name     string
		doc      string
		levels   string // mode, value, number of requests, windows of each
		warnings []string
		err      string
	}{
		{"usual", one(req), "concurrency 1 n=1 [1 9]", nil, ""},
		{"BOM and spaces around", "\ufeff \n" + one(req) + " \n", "concurrency 1 n=1 [1 9]", nil, ""},
		{"header last", `{"version":"x","experiments":[{"requests":[` + req + `,` + req + `],"experiment":{"value":7.50,"mode":"request_rate"}}]}`, "request_rate 7.50 n=2 []", nil, ""},
		{"no requests yet: pa before", `{"experiments":[{"pa":{"measured":3},"window_boundaries":[18446744073709551615],"requests":[]}]}`, "  n=0 [18446744073709551615]", nil, ""},
		{"two levels", `{"experiments":[{"experiment":{"mode":"a","value":1},"requests":[` + req + `]},{"experiment":{"mode":"b","value":2},"requests":[` + req + `,` + req + `]}]}`, "a 1 n=1 []; b 2 n=2 []", nil, ""},
		{"excluded come after the others", `{"experiments":[{"pa":{"excluded_requests":[{"timestamp":3,"pa":{"reason":"warmup"}}]},"requests":[` + req + `]}]}`, "  n=2 []", nil, ""},
		{"escaped requests", `{"experiments":[{"\u0072equests":[` + req + `]},{"requests":[` + req + `]}]}`, "  n=1 []; n=1 []", nil, ""},
		{"requests as a value", `{"experiments":[{"requests":[{"timestamp":1,"request_inputs":{"requests":"requests"}}]}],"endpoint":"requests"}`, "  n=1 []", nil, ""},
		{"unknown array behind the requests", `{"experiments":[{"experiment":{"mode":"m","value":1},"requests":[` + req + `],"future":[{"a":1}],"window_boundaries":[4]}],"gpus":[{"gpu":[{"b":2}]}]}`, "m 1 n=1 [4]", nil, ""},
		{"wrong member of the run's pa", `{"experiments":[{}],"pa":{"start_ns":-7}}`, "  n=0 []", []string{`member "pa": "start_ns" is left out: start_ns: expected a whole number from 0, found number -7`}, ""},
		{"wrong member within the run's pa", `{"experiments":[{}],"pa":{"merged":{"world_size":2.5}}}`, "  n=0 []", []string{`member "pa": "merged" is left out: merged.world_size: expected a whole number, found number 2.5`}, ""},
		{"the run's pa is no object", `{"experiments":[{}],"pa":7}`, "  n=0 []", []string{`member "pa" is left out: expected an object, found number`}, ""},
		{"wrong member of a level's pa", `{"experiments":[{"pa":{"client":"x"}}]}`, "  n=0 []", []string{`experiment 0: member "pa": "client" is left out: client: expected an object, found string`}, ""},
		{"edge: no experiments", `{"experiments":[],"version":"x"}`, "", nil, ""},
		{"edge: an empty experiment", `{"experiments":[{}]}`, "  n=0 []", nil, ""},
		{"edge: requests null", `{"experiments":[{"requests":null}]}`, "  n=0 []", nil, ""},
		{"experiments null", `{"experiments":null}`, "", []string{"expected an array"}, ""},
		{"experiments an object", `{"experiments":{"requests":[]}}`, "", []string{`member "experiments": expected an array, found "{\"requests\":[]}"`}, ""},
		{"an experiment that is none", `{"experiments":[5,{"requests":[` + req + `]}]}`, "  n=1 []", []string{`expected an object, found "5"`}, ""},
		{"wrong types in the header", `{"version":5,"experiments":[{"experiment":{"mode":1,"value":"8","x":1},"requests":{},"window_boundaries":[1,-1]}]}`, " 8 n=0 []", []string{`member "version": expected a string, found "5"`, "mode", "expected a number, found the string", `unknown member "x"`, `"requests": expected an array`, "window_boundaries"}, ""},
		{"the same twice", `{"experiments":[{"requests":[` + req + `],"requests":[` + req + `,` + req + `]}]}`, "  n=2 []", []string{`member "requests" is there twice`}, ""},
		{"more behind", one(req) + `{"x":1}`, "concurrency 1 n=1 [1 9]", nil, `x.json: byte 197: the document ends here, but 7 more bytes follow, starting with '{'; its requests were read`},
		{"two documents", one(req) + "\n" + one(req+","+req), "concurrency 1 n=1 [1 9]", nil, `x.json: byte 198: the document ends here, but `},
		{"NUL bytes behind", one(req) + " \x00", "concurrency 1 n=1 [1 9]", nil, `byte 198: the document ends here, but 1 more byte follows, starting with '\x00'`},
		{"cut in a request", one(req)[:100], "concurrency 1 n=0 []", nil, "x.json: cut short at byte 100, inside experiment 0, request 0; the part before it was read"},
		{"cut behind a request", one(req + "," + req)[:121], "concurrency 1 n=1 []", nil, "x.json: cut short at byte 121, inside experiment 0, request 1"},
		{"cut in the windows", strings.Split(one(req), `,9]`)[0], "concurrency 1 n=1 []", nil, "inside experiment 0;"},
		{"cut in the top level", strings.TrimSuffix(one(req), `"}`), "concurrency 1 n=1 [1 9]", nil, "inside the top-level object"},
		{"broken request", one(req + `,{"timestamp":1 "x":2},` + req), "concurrency 1 n=1 [1 9]", nil, `x.json: byte 132: experiment 0, request 1: expected ',' or '}', found '"'`},
		{"NUL bytes of a crash", one(req + ",")[:117] + strings.Repeat("\x00", 50), "concurrency 1 n=1 []", nil, `request 1: expected a value, found '\x00'`},
		{"broken between requests", one(req + req), "concurrency 1 n=1 [1 9]", nil, `request 1: expected ',' or ']', found '{'`},
		{"comma too many", one(req + ","), "concurrency 1 n=1 [1 9]", nil, `request 1: expected a value after ',', found ']'`},
		{"broken header behind", strings.Replace(one(req), `"version":""`, `"version":nan`, 1), "concurrency 1 n=1 [1 9]", nil, "expected null, found 'a'"},
		{"nested too deep", one(req + `,{"timestamp":1,"request_inputs":{"a":` + strings.Repeat("[", 10000)), "concurrency 1 n=1 []", nil, "nest deeper than 512"},
		{"nested too deep in the header", `{"experiments":[{}],"x":` + strings.Repeat(`{"a":`, 10000), "  n=0 []", nil, "nest deeper than 512"},
		{"unknown array with times", `{"experiments":[{"requests":[` + req + `],"gpu":[{"timestamp":1}]}],"x":[{"y":[{"timestamp":1}]}]}`, "  n=1 []", nil, ""},
		{"an array behind the experiments that looks like requests", `{"experiments":[{"requests":[` + req + `]}],"x":[{"y":[` + req + `]}]}`, "  n=1 []", nil, ""},
		{"hostile: and like the rest of an experiment", `{"experiments":[{"requests":[` + req + `]}],"x":[{"y":[` + req + `],"window_boundaries":[7]}],"version":""}`, "  n=1 []", nil, ""},
		{"hostile: an experiment that looks like the end of another", `{"experiments":[{"requests":[` + req + `]},{"y":[` + req + `],"window_boundaries":[7]}],"version":""}`, "  n=1 []; n=0 [7]", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := mustRead(t, tt.doc)
			n := make([]int, len(res.run.Experiments))
			for _, i := range res.level {
				n[i]++
			}
			var got []string
			for i, e := range res.run.Experiments {
				got = append(got, fmt.Sprintf("%s %s n=%d %v", e.Mode, e.Value, n[i], e.WindowBoundaries))
			}
			if g, w := strings.Join(got, ";"), tt.levels; strings.ReplaceAll(g, " ", "") != strings.ReplaceAll(w, " ", "") {
				t.Errorf("experiments: got %q, want %q", g, w)
			}
			if !strings.Contains(res.err, tt.err) || (res.err == "") != (tt.err == "") {
				t.Errorf("err = %q, want %q in it", res.err, tt.err)
			}
			if len(res.warnings) != len(tt.warnings) {
				t.Fatalf("warnings: got %q, want %q", res.warnings, tt.warnings)
			}
			for i, w := range tt.warnings {
				if !strings.Contains(res.warnings[i], w) {
					t.Errorf("warning %q, want %q in it", res.warnings[i], w)
				}
			}
		})
	}
}

func TestReaderOpenErrors(t *testing.T) {
	for _, tt := range []struct{ doc, want string }{
		{``, "cut short at byte 0"}, // the Opener says more
		{`[]`, `x.json: byte 0: expected a JSON object with "experiments", found '['`},
		{`{}`, `expected a JSON object with "experiments", found one without`},
		{`{"version":"2.39.0"}`, "found one without"},
		{`{version:1}`, `x.json: byte 1: expected a member name, found 'v'`},
		{`hello`, `found 'h'`},
		{"\x00\x00", `found '\x00'`},
	} {
		res, err := readAll([]byte(tt.doc), jsonscan.DefaultChunk, export.Limits{})
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		default:
			got = res.err
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q: %q, want %q in it", tt.doc, got, tt.want)
		}
	}
}

// Each letter of "requests" may be escaped, in the second experiment too, where
// the end of the file looks as if the first one's requests ended there.
func TestReaderEscapedNames(t *testing.T) {
	const req = `{"timestamp":1,"response_timestamps":[2]}`
	for i, letter := range "requests" {
		for _, format := range []string{`\u%04x`, `\u%04X`} {
			name := "requests"[:i] + fmt.Sprintf(format, letter) + "requests"[i+1:]
			doc := `{"experiments":[{"requests":[` + req + `],"window_boundaries":[1]},{"` + name + `":[` + req + `],"window_boundaries":[2]}],"version":""}`
			for _, chunk := range []int{16, jsonscan.DefaultChunk} {
				res, err := readAll([]byte(doc), chunk, export.Limits{})
				if err != nil || res.err != "" || len(res.run.Experiments) != 2 || !slices.Equal(res.level, []int{0, 1}) {
					t.Errorf("%s: %v, %+v", doc, err, res)
				}
			}
			r, err := NewReader(context.Background(), "x.json", strings.NewReader(doc), int64(len(doc)), export.Limits{})
			if err != nil || len(r.Run().Experiments) != 2 {
				t.Errorf("%s: the header is not complete before the first request, %v", doc, err)
			}
		}
	}
}

// An escape of a letter is found wherever the file is cut into pieces, and none
// is seen where there is none.
func TestOnlyRequestsPieces(t *testing.T) {
	for _, tt := range []struct {
		text string
		want bool // the shortcut can be taken
	}{
		{`\u0071`, false},
		{`\u0000\u0000\u0064`, false},
		{`\u0000\u0000\u0000`, true},
		{`\u2061\u1073`, true},
		{`\"requests\"`, true},
		{`"requests"`, false},
	} {
		for pad := scanBytes - 40; pad < scanBytes+20; pad += testenv.Stride(3) {
			doc := `"requests"` + strings.Repeat(" ", pad) + tt.text + "    "
			c := jsonscan.NewCursor("x.json", strings.NewReader(doc), int64(len(doc)), 1<<20, 1)
			at, err := onlyRequests(&c)
			if err != nil || (at == 0) != tt.want {
				t.Fatalf("%s after %d bytes: %d, %v", tt.text, pad, at, err)
			}
		}
	}
}

// The name is found once wherever the file is cut into parts, and twice if it is there twice.
func TestOnlyRequestsParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	const size = 3*leastPart + 1
	doc := bytes.Repeat([]byte(" "), size)
	for _, part := range []int{0, 1, 2} {
		cut := size / 3 * part
		before := cut - len(requestsName) // the name ends where the part begins
		for at := before - 2; at < cut+4; at++ {
			if at < 0 || at > before+2 && at < cut-1 && at%testenv.Stride(4) > 0 {
				continue
			}
			c := jsonscan.NewCursor("x.json", bytes.NewReader(doc), size, 1<<20, 1)
			copy(doc[at:], requestsName)
			if got, err := onlyRequests(&c); err != nil || got != int64(at) {
				t.Errorf("name at %d: %d, %v", at, got, err)
			}
			copy(doc[size-20:], requestsName)
			if got, err := onlyRequests(&c); err != nil || got != -1 {
				t.Errorf("names at %d and %d: %d, %v", at, size-20, got, err)
			}
			copy(doc[size-20:], `\u0071           `)
			if got, err := onlyRequests(&c); err != nil || got != -1 {
				t.Errorf("name at %d, an escape at %d: %d, %v", at, size-20, got, err)
			}
			for _, from := range []int{at, size - 20} {
				copy(doc[from:], "                ")
			}
		}
	}
}

// Requests that are left out are counted by experiment.
func TestReaderSkipped(t *testing.T) {
	const good, bad = `{"timestamp":1,"response_timestamps":[2]}`, `{"timestamp":-1}`
	doc := `{"experiments":[{"requests":[` + good + `]},{"requests":[` + bad + `,` + good + `,7],"pa":{"excluded_requests":[` + bad + `]}},{"requests":[` + bad + `]}],"version":""}`
	r, err := NewReader(context.Background(), "x.json", strings.NewReader(doc), int64(len(doc)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	var got [][2]int
	for i := -1; i < 4; i++ {
		counted, excluded := r.Skipped(i)
		got = append(got, [2]int{counted, excluded})
	}
	if want := [][2]int{{}, {}, {2, 1}, {1, 0}, {}}; !slices.Equal(got, want) {
		t.Errorf("skipped %v, want %v", got, want)
	}
	w := r.Warnings()
	if len(w) != 1 || !w[0].LeftOut || w[0].Count != 4 {
		t.Errorf("warnings %+v, want one of four requests that were left out", w)
	}
}

// The header is there before the first Next, from either way of reading it.
func TestReaderRunFirst(t *testing.T) {
	const tail = `"version":"v","service_kind":"openai","endpoint":"e","pa":{"schema":"pa-export/1","tool":"t","seed":18446744073709551615}`
	for _, doc := range []string{
		`{"experiments":[{"experiment":{"mode":"m","value":1},"requests":[{"timestamp":1}],"window_boundaries":[1],"pa":{"measured":1}}],` + tail + `}`,
		`{` + tail + `,"experiments":[{"window_boundaries":[1],"requests":[{"timestamp":1}],"pa":{"measured":1},"experiment":{"mode":"m","value":1}}]}`,
	} {
		r, err := NewReader(context.Background(), "x.json", strings.NewReader(doc), int64(len(doc)), export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		v, kind, endpoint := "v", "openai", "e"
		want := &export.Run{
			Experiments: []export.Experiment{{Mode: "m", Value: "1", WindowBoundaries: []uint64{1}, Meta: &export.ExperimentMeta{RequestCounts: export.RequestCounts{Measured: 1}}}},
			Version:     &v, ServiceKind: &kind, Endpoint: &endpoint,
			Meta: &export.RunMeta{Schema: "pa-export/1", Tool: "t", Seed: 1<<64 - 1},
		}
		if d := cmp.Diff(want, r.Run()); d != "" {
			t.Errorf("%s (-want +got):\n%s", doc, d)
		}
	}
}

// A Reader closed early stays quiet.
func TestReaderClose(t *testing.T) {
	doc := one(`{"timestamp":1},{"timestamp":2}`)
	r, err := NewReader(context.Background(), "x.json", strings.NewReader(doc), int64(len(doc)), export.Limits{})
	if err != nil || !r.Next() {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if r.Next() || r.Request() != nil || r.Err() != nil {
		t.Error("a closed Reader goes on")
	}
	if len(r.Run().Experiments) != 1 {
		t.Error("Run is gone after Close")
	}
}

func TestReaderContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	doc := one(`{"timestamp":1}`)
	if _, err := NewReader(ctx, "x.json", strings.NewReader(doc), int64(len(doc)), export.Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}

// failingAt is a source that cannot be read from an offset on.
type failingAt struct {
	data string
	bad  int64
}

var errDisk = errors.New("input/output error")

func (f failingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := strings.NewReader(f.data).ReadAt(p, off)
	if off+int64(n) > f.bad {
		return max(0, int(f.bad-off)), errDisk
	}
	return n, err
}

// Requests before a bad sector are delivered, and the error is the disk's.
func TestReaderIOError(t *testing.T) {
	doc := one(`{"timestamp":1},{"timestamp":2},{"timestamp":3}`)
	bad := int64(strings.Index(doc, `{"timestamp":3}`) + 5)
	r, err := newReader(context.Background(), "x.json", failingAt{doc, bad}, int64(len(doc)), export.Limits{}, 16)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r.Next() {
		n++
	}
	if n != 2 || !errors.Is(r.Err(), errDisk) || !strings.Contains(r.Err().Error(), "x.json at byte") {
		t.Errorf("%d requests, err = %v", n, r.Err())
	}
	if _, err := NewReader(context.Background(), "x.json", failingAt{doc, 5}, int64(len(doc)), export.Limits{}); !errors.Is(err, errDisk) {
		t.Errorf("open: %v", err)
	}
}

// A file that became shorter after its size was taken is a cut one.
func TestReaderShrunkFile(t *testing.T) {
	doc := one(`{"timestamp":1},{"timestamp":2}`)
	r, err := NewReader(context.Background(), "x.json", strings.NewReader(doc[:100]), int64(len(doc)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	var cut *export.CutError
	if !errors.As(r.Err(), &cut) || cut.Offset != 100 {
		t.Errorf("err = %v", r.Err())
	}
}

// Any size of the window gives the same.
func TestReaderChunks(t *testing.T) {
	docs := [][]byte{
		generate(5, 4),
		[]byte(one(`{"timestamp":1, "request_inputs":{"a": [ 1,2 ],"s":"\ud83d\ude00\\\""}}` + strings.Repeat(" ", 300) + `,{"timestamp":-1}`)),
		[]byte(one(`{"timestamp":1,"x":[1,`)[:100]),
		generate(3, 4)[:2000],
	}
	for i, doc := range docs {
		want, err := readAll(doc, jsonscan.DefaultChunk, export.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range []int{1, 2, 3, 5, 7, 13, 64, 100, 1000, 4096} {
			got, err := readAll(doc, chunk, export.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(want, got) {
				d := cmp.Diff(want, got, cmp.AllowUnexported(result{}))
				t.Errorf("document %d, chunks of %d (-want +got):\n%s", i, chunk, d)
			}
		}
	}
}

var _ io.ReaderAt = failingAt{}

// One bad member once took all others of "pa" with it: a level of sessions was then called request rate 0.
func TestReaderKeepsTheGoodMembersOfMeta(t *testing.T) {
	doc := `{"experiments":[{"pa":{"start_ns":5,"client":{"cpu":7},"load":"session_concurrency:2","unknown":[],"measured":5.5,"late":3}}],
		"pa":{"model":"m","host":[],"streaming":true,"samples":[],"parameters":{"top_k":1}}}`
	r, err := NewReader(context.Background(), "f.json", strings.NewReader(doc), int64(len(doc)), export.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	run := r.Run()
	if m := run.Experiments[0].Meta; m == nil || m.Load != "session_concurrency:2" || m.StartNS != 5 || m.Late != 3 || m.Client != nil || m.Measured != 0 {
		t.Errorf("level: %+v", m)
	}
	if m := run.Meta; m == nil || m.Model != "m" || m.Streaming == nil || !*m.Streaming || m.Host != nil || len(m.Parameters) > 0 {
		t.Errorf("run: %+v", m)
	}
	var got []string
	for _, w := range r.Warnings() {
		got = append(got, w.Msg)
	}
	want := []string{
		`member "pa": "client" is left out: client.cpu: expected an object, found number`,
		`member "pa": "measured" is left out: measured: expected a whole number, found number 5.5`,
		`member "pa": "host" is left out: host: expected an object, found array`,
		`member "pa": "parameters" is left out: parameters: expected a string, found number`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("warnings %q", got)
	}
}
