package jsonscan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

func TestScanUint(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want string // the number, "bad", "error" or "more"
	}{
		{"0,", "0"},
		{"7]", "7"},
		{"12345678,", "12345678"},
		{"123456789 ", "123456789"},
		{"1700000000123456789,", "1700000000123456789"},
		{"9999999999999999999,", "9999999999999999999"},   // 19 digits, above int64
		{"18446744073709551615,", "18446744073709551615"}, // the largest
		{"18446744073709551616,", "bad"},                  // one more
		{"100000000000000000000,", "bad"},
		{"-1,", "bad"},
		{"-0,", "bad"},
		// Python writes integers that went through a float in these ways.
		{"1.0,", "1"},
		{"1e18,", "1000000000000000000"},
		{"1e+18,", "1000000000000000000"},
		{"1.700000000123456789E18,", "1700000000123456789"},
		{"1700000000123456789000e-3,", "1700000000123456789"},
		{"17000000001234567890.00e-1,", "1700000000123456789"},
		{"12345678E0,", "12345678"},
		{"1.8446744073709551615e19,", "18446744073709551615"},
		{"0.0e99,", "0"},
		{"0e-5,", "0"},
		{"0." + strings.Repeat("0", 999) + "7e1000,", "7"},
		{"7" + strings.Repeat("0", 999) + "e-999,", "7"},
		{"1700000000.5,", "bad"},
		{"1e-1,", "bad"},
		{"15e-1,", "bad"},
		{"1.8446744073709551616e19,", "bad"},
		{"1e20,", "bad"},
		{"2e19,", "bad"},
		{"1e99999999999999999999,", "bad"},
		{"1e-99999999999999999999,", "bad"},
		{"1e9223372036854775807,", "bad"},
		{"1.0e-9223372036854775807,", "bad"},
		{"-1.0,", "bad"},
		{"-0.0,", "bad"},
		{`"5",`, "bad"},
		{"null,", "bad"},
		{"true,", "bad"},
		{`{"a":[1]},`, "bad"},
		{"007,", "7"}, // see below: ends after the first 0
		{"x,", "error"},
		{"-,", "error"},
		{"1.,", "error"},
		{"", "more"},
		{"17", "more"},
		{"12345678", "more"},
		{"nul", "more"},
	} {
		v, end, bad, err := Uint([]byte(tt.in), 0)
		got := strconv.FormatUint(v, 10)
		switch {
		case errors.Is(err, ErrMore):
			got = "more"
		case err != nil:
			got = "error"
		case bad:
			got = "bad"
		}
		want := tt.want
		if tt.in == "007," {
			// JSON numbers have no leading zeros; the caller stumbles over
			// the second one.
			want = "0"
			if end != 1 {
				t.Errorf("Uint(%q) ends at %d, want 1", tt.in, end)
			}
		}
		if got != want {
			t.Errorf("Uint(%q) = %s, want %s", tt.in, got, want)
		}
	}
}

func TestEightDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		b := []byte(fmt.Sprintf("%08d", rng.IntN(1e8)))
		if rng.IntN(2) == 0 {
			b[rng.IntN(8)] = byte(rng.IntN(256))
		}
		w := binary.LittleEndian.Uint64(b)
		n, err := strconv.ParseUint(string(b), 10, 64)
		digits := err == nil && !bytes.ContainsAny(b, "+_")
		if got := eightDigits(w); got != digits {
			t.Fatalf("eightDigits(%q) = %v, want %v", b, got, digits)
		}
		if digits && parseEight(w) != n {
			t.Fatalf("parseEight(%q) = %d, want %d", b, parseEight(w), n)
		}
	}
}

// TestSpecials checks every pair of neighbouring bytes, which is how far the
// borrow of one byte reaches.
func TestSpecials(t *testing.T) {
	special := func(c byte) bool { return c == '"' || c == '\\' || c < 0x20 }
	for lo := range 256 {
		for hi := range 256 {
			b := bytes.Repeat([]byte{'a'}, 9)
			b[3], b[4] = byte(lo), byte(hi)
			want := 9
			if special(byte(lo)) {
				want = 3
			} else if special(byte(hi)) {
				want = 4
			}
			if got := IndexSpecial(b, 0); got != want {
				t.Fatalf("indexSpecial of %#x %#x = %d, want %d", lo, hi, got, want)
			}
		}
	}
}

// values are JSON texts and near misses, for tests and fuzzing.
var values = []string{
	`null`, `true`, `false`, `0`, `-0`, `1.5e-7`, `""`, `"a\"b"`, `"\u00e9\ud83d\ude00"`, `[]`, `{}`, `[1,2]`, `{"a":1}`,
	` [ 1 , { "b" : [ ] } , "x" ] `, `{"a":{"b":{"c":[[[1]]]}}}`, `{"a":1,"a":2}`,
	`nul`, `tru`, `01`, `+1`, `.5`, `1.`, `1e`, `-`, `"`, `"\x"`, `"\u12"`, "\"\x01\"", `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a":1,}`,
	`{a:1}`, `[1 2]`, `[}`, `{]`, `[1}`, `{"a":1]`, `]`, `}`, `,`, `:`, `NaN`, `Infinity`, `[[[[`, `{"a":{"a":`, "",
	"\"\xff\xfe\"", `"\ud800"`, `"\udc00\ud800"`, `"\ud800\u0041"`, "\"\x7f\"",
}

// TestValue compares with encoding/json, which takes the same JSON.
func TestValue(t *testing.T) {
	for _, v := range values {
		checkValue(t, []byte(v))
	}
}

func checkValue(t *testing.T, v []byte) {
	t.Helper()
	start := SkipSpace(v, 0)
	// A comma after it ends a number.
	end, _, err := Value(append(v[:len(v):len(v)], ','), start)
	ok := err == nil && SkipSpace(v, end) == len(v)
	if want := json.Valid(v); ok != want {
		t.Errorf("Value(%q) = %d, %v; encoding/json says valid = %v", v, end, err, want)
	}
	if ok {
		var want bytes.Buffer
		if err := json.Compact(&want, v); err != nil {
			t.Fatal(err)
		}
		if got := AppendCompact(nil, v); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("AppendCompact(%q) = %q, want %q", v, got, want.Bytes())
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		testenv.BoundMemory(t, len(v), 1<<20, 100, func() { _, _, _ = Value(v, 0) })
		if !json.Valid(v) || bytes.Count(v, []byte("["))+bytes.Count(v, []byte("{")) <= maxDepth {
			checkValue(t, v)
		}
	})
}

// Python's words for what JSON has no number for are values only where they are
// asked for, at any depth.
func TestPythonValue(t *testing.T) {
	for _, v := range []string{`NaN`, `Infinity`, `-Infinity`, `[NaN,-1,{"a":Infinity,"b":[-Infinity]}]`} {
		end, _, err := PythonValue([]byte(v), 0)
		if err != nil || end != len(v) {
			t.Errorf("PythonValue(%q) = %d, %v", v, end, err)
		}
		if _, _, err := Value([]byte(v), 0); err == nil || errors.Is(err, ErrMore) {
			t.Errorf("Value(%q) = %v, want an error", v, err)
		}
		for i := 1; i < len(v); i++ {
			if end, _, err := PythonValue([]byte(v[:i]), 0); !errors.Is(err, ErrMore) {
				t.Errorf("PythonValue(%q) = %d, %v, want %v", v[:i], end, err, ErrMore)
			}
		}
	}
	for _, v := range []string{`Nan,`, `-NaN,`, `infinity,`, `Inf,`, `+Infinity,`, `[-Inf]`} {
		if _, _, err := PythonValue([]byte(v), 0); err == nil || errors.Is(err, ErrMore) {
			t.Errorf("PythonValue(%q) = %v, want an error", v, err)
		}
	}
}

// A prefix of a value is never an error, always a request for more.
func TestValuePrefix(t *testing.T) {
	v := []byte(`{"a":[1,-2.5e+3,"x\"\u00e9\ud83d\ude00",true,false,null,{}],"b":{"c":[]}}`)
	for i := range v {
		if _, _, err := Value(v[:i], 0); !errors.Is(err, ErrMore) {
			t.Errorf("Value(%q) = %v, want %v", v[:i], err, ErrMore)
		}
	}
}

func TestValueDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		deep := strings.Repeat(open, 1e6)
		if _, _, err := Value([]byte(deep), 0); err == nil || !strings.Contains(err.Error(), "deeper than 512") {
			t.Errorf("a million %q: %v", open, err)
		}
	}
	ok := strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if end, _, err := Value([]byte(ok), 0); err != nil || end != len(ok) {
		t.Errorf("depth %d: %d, %v", maxDepth, end, err)
	}
}

func TestSkipper(t *testing.T) {
	for _, v := range []string{
		`{"a":["}]","\\","\"","x\\\"}y",{"b":[[],{}]}],"c":"12345678\"87654321\\"}`,
		`""`, `"x\\\"}y 12345678\"87654321\\"`,
	} {
		for _, tail := range []string{"", `,{"next":1}`, `"`, `}`} {
			for chunk := 1; chunk <= len(v)+2; chunk++ {
				var s Skipper
				rest, n := v+tail, 0
				for {
					k, done := s.Next([]byte(rest[:min(chunk, len(rest))]))
					n += k
					if done {
						break
					}
					if rest = rest[k:]; rest == "" {
						t.Fatalf("%s, chunks of %d: no end found", v, chunk)
					}
				}
				if n != len(v) {
					t.Errorf("%s, chunks of %d: ends at %d, want %d", v, chunk, n, len(v))
				}
			}
		}
	}
}

func TestText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`""`, ""},
		{`"plain"`, "plain"},
		{`"a\"b\\c\/d\b\f\n\r\t"`, "a\"b\\c/d\b\f\n\r\t"},
		{`"\u0000\u001b\u001B\u00e9\u20AC"`, "\x00\x1b\x1bé€"},
		{`"\ud83d\ude00"`, "😀"},
		{`"\ud83d"`, "\xed\xa0\xbd"},                   // a high half alone
		{`"\ude00\ud83d"`, "\xed\xb8\x80\xed\xa0\xbd"}, // the wrong way round
		{`"\ud83dx"`, "\xed\xa0\xbdx"},
		{`"\ud83d\n"`, "\xed\xa0\xbd\n"},
		{`"\ud83d\u0041"`, "\xed\xa0\xbdA"},
		{`"\ufffd"`, "\uFFFD"},
		{"\"\xff\xfe\x80\x7f\"", "\xff\xfe\x80\x7f"}, // no UTF-8
		{"\"12345678\xc3\\n1234567\\\\\"", "12345678\xc3\n1234567\\"},
	} {
		for _, room := range []int{0, 100} { // with and without room for eight bytes at once
			a := Arena{buf: make([]byte, len(tt.in)+room)}
			got, end, err := a.Text([]byte(tt.in), 0)
			if err != nil || string(got) != tt.want || end != len(tt.in) {
				t.Errorf("Text(%s) = %q, %d, %v, want %q", tt.in, got, end, err, tt.want)
			}
		}
		for i := 1; i < len(tt.in); i++ {
			a := Arena{buf: make([]byte, len(tt.in))}
			if _, _, err := a.Text([]byte(tt.in[:i]), 0); !errors.Is(err, ErrMore) {
				t.Errorf("Text(%s) = %v, want %v", tt.in[:i], err, ErrMore)
			}
		}
	}
	for _, in := range []string{`"\x"`, `"\u12g4"`, "\"a\x00b\"", "\"12345678\n\"", `"\ud83d\u12z4"`} {
		a := Arena{buf: make([]byte, 100)}
		if got, _, err := a.Text([]byte(in), 0); err == nil || errors.Is(err, ErrMore) {
			t.Errorf("Text(%s) = %q, %v, want an error", in, got, err)
		}
	}
}
