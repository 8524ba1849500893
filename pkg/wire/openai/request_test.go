package openai

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInspectRequest(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want RequestInfo
	}{
		{`{}`, RequestInfo{}},
		{`{"model":"m","stream":true}`, RequestInfo{Model: "m", Stream: true, HasStream: true}},
		{`{"stream":false,"model":"a\u0062"}`, RequestInfo{Model: "ab", HasStream: true}},
		{`{"stream":null,"model":null}`, RequestInfo{}},
		{`{"metadata":{"stream":true,"model":"x"}}`, RequestInfo{}},
		{`{"stream":true,"stream":false}`, RequestInfo{HasStream: true}},
		{`{"stream":"true"}`, RequestInfo{}},
		{`{"n":3,"encoding_format":"bytes"}`, RequestInfo{N: 3, EncodingFormat: "bytes"}},
		{`{"n":"3","encoding_format":["bytes"]}`, RequestInfo{}},
	} {
		got, err := InspectRequest([]byte(tt.in))
		if err != nil || got != tt.want {
			t.Errorf("InspectRequest(%s) = %+v, %v, want %+v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{``, `[]`, `{"a":1`, `{} x`} {
		if got, err := InspectRequest([]byte(in)); err == nil {
			t.Errorf("InspectRequest(%s) = %+v, want an error", in, got)
		}
	}
}

// compact are values and what perf_analyzer makes of them.
var compact = []struct{ name, in, want string }{
	{"order and white space", "{ \"b\" : 1,\n\t\"a\" : [ 1 , 2 ] , \"c\":{ } ,\"d\":[ ]}", `{"b":1,"a":[1,2],"c":{},"d":[]}`},
	{"number text", `[1.0,1e3,-0,0.10,12345678901234567890,1E+2]`, `[1.0,1e3,-0,0.10,12345678901234567890,1E+2]`},
	{"literals", `[ true,false , null ]`, `[true,false,null]`},
	{"repeated keys stay", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
	{"nested first elements", `[[[1],[2]],[{"a":{"b":[]}}]]`, `[[[1],[2]],[{"a":{"b":[]}}]]`},
	{"slash", `"a\/b"`, `"a/b"`},
	{"escapes of characters", `"\u00e9\u65e5\ud83d\ude80\u0041"`, `"é日🚀A"`},
	{"necessary escapes", `"\"\\\b\f\n\r\t\u0000\u001f\u0022\u005c\u000a"`, `"\"\\\b\f\n\r\t\u0000\u001F\"\\\n"`},
	{"DEL and line separators", `"\u007f\u2028\ufffd"`, "\"\x7f\u2028\ufffd\""},
	{"halves of pairs", `"\ud83d \ude80\ud83dx"`, `"\ud83d \ude80\ud83dx"`},
	{"escaped key", `{"\u0061\/":1}`, `{"a/":1}`},
	{"not UTF-8", "\"\xff\"", "\"\xff\""},
	{"empty string", `{"":""}`, `{"":""}`},
}

func TestAppendCompact(t *testing.T) {
	for _, tt := range compact {
		t.Run(tt.name, func(t *testing.T) {
			got, err := AppendCompact([]byte("x{"), []byte(tt.in))
			if err != nil || string(got) != "x{"+tt.want {
				t.Errorf("AppendCompact(%s) = %s, %v, want x{%s", tt.in, got, err, tt.want)
			}
		})
	}
	if _, err := AppendCompact(nil, []byte(`{"a":1,}`)); err == nil {
		t.Error("AppendCompact of invalid JSON: no error")
	}
}

func TestMergeRequest(t *testing.T) {
	for _, tt := range []struct{ name, body, extra, want string }{
		{"nothing", `{ "a": 1 }`, ``, `{"a":1}`},
		{"empty", `{"a":1}`, `{}`, `{"a":1}`},
		{"append", `{"a":1}`, `{"model":"m","stream":true}`, `{"a":1,"model":"m","stream":true}`},
		{"into an empty body", `{}`, `{"model":"m"}`, `{"model":"m"}`},
		{"replace in place", `{"stream":false,"a":1}`, `{"stream":true}`, `{"stream":true,"a":1}`},
		{"not deep", `{"o":{"x":1}}`, `{"o":{"y":2}}`, `{"o":{"y":2}}`},
		{"options of streams", `{"stream_options":{"include_usage":true,"x":1},"a":1}`, `{"stream_options":{"x":2,"continuous_usage_stats":true}}`, `{"stream_options":{"include_usage":true,"x":2,"continuous_usage_stats":true},"a":1}`},
		{"options of streams that are none", `{"stream_options":{"include_usage":true}}`, `{"stream_options":null}`, `{"stream_options":null}`},
		{"nested keys are others", `{"o":{"model":"x"}}`, `{"model":"m"}`, `{"o":{"model":"x"},"model":"m"}`},
		{"the last of repeated keys counts", `{"a":1,"a":2}`, `{"a":3}`, `{"a":1,"a":3}`},
		{"repeated in extra", `{}`, `{"a":1,"a":2}`, `{"a":2}`},
		{"keys spelled differently", `{"mode\u006c":"x"}`, `{"model":"m"}`, `{"model":"m"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := MergeRequest([]byte(tt.body), []byte(tt.extra))
			if err != nil || string(got) != tt.want {
				t.Errorf("MergeRequest(%s, %s) = %s, %v, want %s", tt.body, tt.extra, got, err, tt.want)
			}
		})
	}
	for _, tt := range []struct{ body, extra string }{{`[]`, `{}`}, {`{}`, `[]`}, {`{`, `{}`}, {``, ``}} {
		if got, err := MergeRequest([]byte(tt.body), []byte(tt.extra)); err == nil {
			t.Errorf("MergeRequest(%s, %s) = %s, want an error", tt.body, tt.extra, got)
		}
	}
}

// The compact form means the same and is a fixed point.
func FuzzAppendCompact(f *testing.F) {
	for _, tt := range compact {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := AppendCompact(nil, in)
		if err != nil {
			return
		}
		var want, have any
		if err := json.Unmarshal(in, &want); err != nil {
			if json.Valid(in) {
				return // a number out of range
			}
			t.Fatalf("AppendCompact accepts %q, encoding/json does not: %v", in, err)
		}
		if err := json.Unmarshal(got, &have); err != nil {
			t.Fatalf("AppendCompact(%q) = %q: %v", in, got, err)
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Fatalf("AppendCompact(%q) = %q (-in +out):\n%s", in, got, diff)
		}
		again, err := AppendCompact(nil, got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("AppendCompact(%q) = %q, %v: not a fixed point", got, again, err)
		}
	})
}
