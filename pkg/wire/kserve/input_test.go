package kserve

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/testenv"
)

var inputTests = []struct {
	name  string
	dt    Datatype
	js    string
	data  string // raw bytes
	count int64
	shape []int64
}{
	{"array", INT32, `[1,-2]`, "\x01\x00\x00\x00\xfe\xff\xff\xff", 2, nil},
	{"white space", INT8, " [ 1 ,\n\t2 ] ", "\x01\x02", 2, nil},
	{"nested arrays are flattened", UINT8, `[[1,2],[3,[4]]]`, "\x01\x02\x03\x04", 4, nil},
	{"empty", INT32, `[]`, "", 0, nil},
	{"empty nested", INT32, `[[],[]]`, "", 0, nil},
	{"plain scalar", INT16, `-1`, "\xff\xff", 1, nil},
	{"plain string", BYTES, `"ab"`, "\x02\x00\x00\x00ab", 1, nil},
	{"plain bool", BOOL, `true`, "\x01", 1, nil},
	{"strings", BYTES, `["ab","xyz",""]`, "\x02\x00\x00\x00ab\x03\x00\x00\x00xyz\x00\x00\x00\x00", 3, nil},
	{"escapes", BYTES, `["\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"]`, "\x0e\x00\x00\x00\"\\/\b\f\n\r\té😀", 1, nil},
	{"lone surrogate", BYTES, `["\ud83dx"]`, "\x04\x00\x00\x00\uFFFDx", 1, nil},
	{"two high surrogates", BYTES, `["\ud83d\ud83d\ude00"]`, "\x07\x00\x00\x00\uFFFD😀", 1, nil},
	{"string that is not UTF-8", BYTES, "[\"\xff\xfe\"]", "\x02\x00\x00\x00\xff\xfe", 1, nil},
	{"bools", BOOL, `[true,false]`, "\x01\x00", 2, nil},
	{"least integers", INT64, `[-9223372036854775808]`, "\x00\x00\x00\x00\x00\x00\x00\x80", 1, nil},
	{"greatest integers", UINT64, `[18446744073709551615]`, "\xff\xff\xff\xff\xff\xff\xff\xff", 1, nil},
	{"minus zero is an integer", UINT8, `[-0]`, "\x00", 1, nil},
	{"floats", FP32, `[1.5,-0.0,1e+30]`, "\x00\x00\xc0\x3f\x00\x00\x00\x80\xca\xf2\x49\x71", 3, nil},
	{"an integer is a float too", FP64, `[1]`, "\x00\x00\x00\x00\x00\x00\xf0\x3f", 1, nil},
	{"NaN and infinities", FP32, `[NaN,Inf,-Infinity]`, "\x00\x00\xc0\x7f\x00\x00\x80\x7f\x00\x00\x80\xff", 3, nil},
	{"b64", INT16, `{"b64":"AQACAA=="}`, "\x01\x00\x02\x00", 2, nil},
	{"b64 without padding", INT16, `{"b64":"AQACAA"}`, "\x01\x00\x02\x00", 2, nil},
	{"b64 of strings", BYTES, `{"b64":"AwAAAP/+QQ=="}`, "\x03\x00\x00\x00\xff\xfeA", 1, nil},
	{"b64 of FP16", FP16, `{"content":{"b64":"ADwAQA=="},"shape":[2]}`, "\x00\x3c\x00\x40", 2, []int64{2}},
	{"content", BYTES, `{"content":["a"]}`, "\x01\x00\x00\x00a", 1, nil},
	{"shape before content", INT8, `{"shape":[2,2],"content":[1,2,3,4]}`, "\x01\x02\x03\x04", 4, []int64{2, 2}},
	{"scalar shape", INT8, `{"shape":[],"content":[7]}`, "\x07", 1, []int64{}},
	{"zero in shape", INT8, `{"shape":[0,3],"content":[]}`, "", 0, []int64{0, 3}},
	{"other members", INT8, `{"x":{"y":[1,"]"]},"content":[7],"z":null}`, "\x07", 1, nil},
}

func TestParseInput(t *testing.T) {
	for _, tt := range inputTests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseInput([]byte(tt.js), tt.dt)
			want := Input{Shape: tt.shape, Count: tt.count, Data: []byte(tt.data)}
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("ParseInput(%s, %s) = %v, %v\n%s", tt.js, tt.dt, got, err, cmp.Diff(want, got))
			}
		})
	}
}

func TestParseInputErrors(t *testing.T) {
	for _, tt := range []struct {
		dt       Datatype
		js, want string
	}{
		{INT32, ``, "JSON, byte 0: expected a value, but it ends there"},
		{INT32, `[1`, `JSON, byte 2: expected a comma or ], but it ends there`},
		{INT32, `[1] 2`, `JSON, byte 4: expected the end, found "2"`},
		{INT32, `{}`, `JSON, byte 2: no data: expected an array, {"b64":…} or {"content":…}`},
		{INT32, `[1,"a"]`, "element 1: expected an integer for INT32, found a string"},
		{INT32, `[1.5]`, "element 0: expected an integer for INT32, found 1.5"},
		{INT32, `[1.0]`, "element 0: expected an integer for INT32, found 1.0"},
		{INT32, `[+1]`, "element 0: expected an integer for INT32, found +1"},
		{INT32, `[01]`, "element 0: expected an integer for INT32, found 01"},
		{INT32, `[true]`, "element 0: expected an integer for INT32, found true"},
		{INT32, `[null]`, "element 0: expected an integer for INT32, found null"},
		{INT32, `[{}]`, "element 0: expected an integer for INT32, found an object"},
		{INT8, `[1,128]`, "element 1: 128 is out of range for INT8 (-128 to 127)"},
		{INT64, `[9223372036854775808]`, "element 0: 9223372036854775808 is out of range for INT64 (-9223372036854775808 to 9223372036854775807)"},
		{UINT8, `[-1]`, "element 0: -1 is out of range for UINT8 (0 to 255)"},
		{UINT8, `[256]`, "element 0: 256 is out of range for UINT8 (0 to 255)"},
		{UINT64, `[18446744073709551616]`, "element 0: 18446744073709551616 is out of range for UINT64 (0 to 18446744073709551615)"},
		{BOOL, `[1]`, "element 0: expected true or false for BOOL, found 1"},
		{FP32, `["1"]`, "element 0: expected a number for FP32, found a string"},
		{FP32, `[1e39]`, "element 0: 1e39 is out of range for FP32"},
		{FP64, `[1e999]`, "element 0: 1e999 is out of range for FP64"},
		{FP64, `[0x1p3]`, "element 0: expected a number for FP64, found 0x1p3"},
		{FP64, `[.5]`, "element 0: expected a number for FP64, found .5"},
		{FP16, `[1.5]`, `JSON, byte 0: FP16 data cannot be written as numbers; give its bytes as {"content":{"b64":"…"},"shape":[…]}`},
		{BYTES, `[1]`, "element 0: expected a string for BYTES, found 1"},
		{BYTES, `["a]`, `JSON, byte 4: expected a closing ", but it ends there`},
		{BYTES, `["\x"]`, `JSON, byte 2: expected an escape sequence, found "\\x\"]"`},
		{BYTES, `["\u12"]`, `JSON, byte 2: expected an escape sequence, found "\\u12\"]"`},
		{BYTES, "[\"a\nb\"]", `JSON, byte 3: expected no control character in a string, found "\nb\"]"`},
		{INT32, `{"b64":[1]}`, `JSON, byte 7: expected a string as b64, found "[1]}"`},
		{INT32, `{"b64":"AAAA?"}`, "b64: illegal base64 data at input byte 4"},
		{INT32, `{"b64":"AAAA"}`, "b64: INT32: 3 bytes are not a multiple of 4"},
		{BYTES, `{"b64":"AAAA"}`, "b64: BYTES tensor: element 0, at byte 0 of 3, has no valid 4-byte little-endian length before it"},
		{INT32, `{"b64":"AAAAAA==","content":[1]}`, "JSON, byte 28: data given twice"},
		{INT32, `{"content":[1,2],"shape":[3]}`, "INT32 of shape [3]: expected 12 bytes, found 8"},
		{BYTES, `{"content":["a","b"],"shape":[3]}`, "shape [3]: expected 3 elements, found 2"},
		{INT8, `{"content":[1],"shape":[-1]}`, `shape: dimension 0: "-1" is not an integer of at least 0`},
		{INT8, `{"content":[1],"shape":1}`, `JSON, byte 23: expected an array of integers as shape, found "1}"`},
		{INT8, `{"content":[1],"shape":[9223372036854775807,2]}`, "shape [9223372036854775807,2] is too large"},
		{INT64, `{"content":[1],"shape":[9223372036854775807]}`, "INT64 of shape [9223372036854775807]: expected 9223372036854775807 times 8 bytes, found 8"},
		{"STRING", `["a"]`, `datatype "STRING" is not known`},
		{INT8, strings.Repeat("[", 1000), "JSON, byte 64: arrays nested deeper than 64"},
		{INT8, `{"x":` + strings.Repeat("[", 2000), "JSON, byte 516: nested deeper than 512 levels"},
	} {
		_, err := ParseInput([]byte(tt.js), tt.dt)
		if fmt.Sprint(err) != tt.want {
			t.Errorf("ParseInput(%.40s, %s):\ngot  %v\nwant %s", tt.js, tt.dt, err, tt.want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, tt := range []struct {
		shape []int64
		want  string
	}{
		{nil, "1 <nil>"},
		{[]int64{2, 3}, "6 <nil>"},
		{[]int64{1 << 62, 4}, "0 shape [4611686018427387904,4] is too large"},
		{[]int64{1 << 62, 4, 0}, "0 <nil>"},
		{[]int64{0, 1 << 62, 2}, "0 <nil>"},
		{[]int64{2, -1}, "0 shape [2,-1] has an open dimension"},
	} {
		n, err := Count(tt.shape)
		if got := fmt.Sprint(n, " ", err); got != tt.want {
			t.Errorf("Count(%v) = %s, want %s", tt.shape, got, tt.want)
		}
	}
}

// Accepted input decodes to JSON that is accepted again, with the same bytes: decode∘encode is the
// identity.
func FuzzParseInput(f *testing.F) {
	for i, tt := range inputTests {
		f.Add([]byte(tt.js), i)
	}
	all := []Datatype{BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, FP32, FP64, BF16, BYTES}
	f.Fuzz(func(t *testing.T, js []byte, i int) {
		dt := all[uint(i)%uint(len(all))]
		testenv.BoundMemory(t, len(js), 1<<20, 200, func() { _, _ = ParseInput(js, dt) })
		in, err := ParseInput(js, dt)
		if err != nil {
			return
		}
		if in.Shape != nil {
			if n, err := Count(in.Shape); err != nil || n != in.Count {
				t.Fatalf("shape %v but %d elements (%v)", in.Shape, in.Count, err)
			}
		}
		v, err := Value(dt, in.Data)
		if err != nil {
			t.Fatalf("Value(%s, %x): %v", dt, in.Data, err)
		}
		if dt == FP16 || dt == BF16 {
			return
		}
		again, err := ParseInput(AppendJSON(nil, dt, in.Data), dt)
		if dt == FP32 || dt == FP64 {
			// NaN and infinities are strings in JSON.
			if err == nil && !v.Null() && again.Count != in.Count {
				t.Fatalf("%d elements became %d", in.Count, again.Count)
			}
			return
		}
		if dt == BOOL { // any byte but 0 is true
			for i := range in.Data {
				if in.Data[i] != 0 {
					in.Data[i] = 1
				}
			}
		}
		if err != nil || string(again.Data) != string(in.Data) {
			t.Fatalf("%s %x became %x: %v", dt, in.Data, again.Data, err)
		}
	})
}
