package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

// bytesField is a string output of any bytes.
func bytesField(name, data string) export.Fields {
	return export.Fields{{Name: name, Value: export.Text(data)}}
}

func TestDecodeTensors(t *testing.T) {
	number := func(name, v string) export.Fields { return with(nil, name, v) }
	failed := tensors(text("a"), text("N/A"))
	failed.Responses[1].Error = true
	for _, tt := range []struct {
		name string
		r    export.Request
		want string
		text string
	}{
		{"text and an empty final response", tensors(text("a"), text("b"), text("")), "10/0 20/0", "ab"},
		{"the last token with the final flag", tensors(text("a"), text("b")), "10/0 20/0", "ab"},
		{"no outputs in the final response", tensors(text("a"), export.Fields{}), "10/0", "a"},
		{"no token at all", tensors(text("")), "", ""},
		{"an empty text in the middle", tensors(text("a"), text(""), text("b")), "10/0 30/0", "ab"},
		{"equal tokens are not cumulative", tensors(text("a"), text("a"), text("a")), "10/0 20/0 30/0", "aaa"},
		{"cumulative texts", tensors(text("a"), text("ab"), text("abc"), text("")), "10/0 20/0 30/0", "abc"},
		{"cumulative, nothing added", tensors(text("a"), text("ab"), text("ab"), text("abc"), text("abc")), "10/0 20/0 40/0", "abc"},
		{"two texts are events either way", tensors(text("a"), text("ab")), "10/0 20/0", "aab"},
		{"almost cumulative", tensors(text("a"), text("ab"), text("c")), "10/0 20/0 30/0", "aabc"},
		{"side outputs beside an empty text", tensors(
			with(text("a"), "num_output_tokens", "1"),
			with(with(text(""), "num_output_tokens", "0"), "finish_reason", `0`),
		), "10/0", "a"},
		{"a reason that is a text", tensors(
			append(text("a"), bytesField("finish_reason", "None")...),
			append(text(""), bytesField("finish_reason", "stop")...),
		), "10/0", "a"},
		{"absent numbers are 0 in 24.08", tensors(with(text("a"), "FLAG", "7"), with(text(""), "FLAG", "0")), "10/0", "a"},
		{"token ids", tensors(number("output_ids", "[5]"), number("output_ids", "[6,7]"), number("output_ids", "0")), "10/0 20/0", ""},
		{"numbers, empty final response", tensors(number("OUT", "3"), bytesField("OUT", "")), "10/0", ""},
		{"one number, even 0", tensors(number("OUT", "0")), "10/0", ""},
		{"a flag", tensors(number("OUT", "false")), "10/0", ""},
		{"0 before the last is a value", tensors(number("OUT", "0"), number("OUT", "5")), "10/0 20/0", ""},
		{"null, FP16", tensors(number("OUT", "null")), "", ""},
		{"only side outputs", tensors(number("num_output_tokens", "1"), number("num_output_tokens", "2")), "10/0 20/0", ""},
		{"sequence_index tells answers apart", tensors(
			with(text("a"), "sequence_index", "0"), with(text("x"), "sequence_index", "1"), with(text("b"), "sequence_index", "0"),
		), "10/0 20/1 30/0", "ab"},
		{"cumulative by answer", tensors(
			with(text("a"), "sequence_index", "0"), with(text("x"), "sequence_index", "1"),
			with(text("ab"), "sequence_index", "0"), with(text("x"), "sequence_index", "1"),
		), "10/0 20/1 30/0", "ab"},
		{"24.03: the length in front", tensors(text("\x02\x00\x00\x00ab"), text("\x01\x00\x00\x00c"), text("")), "10/0 20/0", "abc"},
		{"24.03: an empty string", tensors(text("\x01\x00\x00\x00a"), text("\x00\x00\x00\x00")), "10/0", "a"},
		{"24.03: cumulative", tensors(text("\x01\x00\x00\x00a"), text("\x02\x00\x00\x00ab"), text("\x02\x00\x00\x00ab")), "10/0 20/0", "ab"},
		{"24.11: a length of 200", tensors(text("\xc8\x00\x00\x00" + string(make([]byte, 200)))), "10/0", string(make([]byte, 200))},
		{"two strings, both prefixes", tensors(text("\x02\x00\x00\x00ab\x03\x00\x00\x00xyz")), "10/0", "abxyz"},
		{"two strings, the first prefix stripped", tensors(text("ab\x03\x00\x00\x00xyz")), "10/0", "ab\x03\x00\x00\x00xyz"},
		{"before 24.08: numbers as raw bytes", tensors(bytesField("OUT", "\xff\xff\xff\x7f"), bytesField("OUT", "")), "10/0", "\xff\xff\xff\x7f"},
		{"an error response is no token", failed, "10/0", "a"},
		{"a model with an output called response", tensors(bytesField("response", " the"), bytesField("response", "")), "10/0", " the"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Decoder{KeepText: true}
			for range 2 {
				a := d.Decode(&tt.r)
				if got := eventText(a); got != tt.want {
					t.Errorf("events %q, want %q", got, tt.want)
				}
				if got := choiceText(a, 0); got != tt.text {
					t.Errorf("text %q, want %q", got, tt.text)
				}
			}
		})
	}
}

// A Triton model may write JSON; it is not taken for a body.
func TestDecodeTritonJSON(t *testing.T) {
	r := tensors(bytesField("response", "{"), bytesField("response", "}"))
	d := Decoder{ServiceKind: "triton"}
	if got, want := eventText(d.Decode(&r)), "10/0 20/0"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
}

func TestDecodeTensorUsage(t *testing.T) {
	r := tensors(
		with(with(text("a"), "num_output_tokens", "1"), "num_input_tokens", "7"),
		with(with(text("bc"), "num_output_tokens", "[2]"), "num_input_tokens", "7"),
		with(with(text(""), "num_output_tokens", "0"), "num_input_tokens", "0"),
	)
	var d Decoder
	want := Usage{Input: export.IntOf(7), Output: export.IntOf(3)}
	if diff := cmp.Diff(want, d.Decode(&r).Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func FuzzWithoutPrefixes(f *testing.F) {
	for _, s := range []string{"", "abc", "\x01\x00\x00\x00a", "\x00\x00\x00\x00", "\x00\x00\x00\x00\x01\x00\x00\x00b", "\xff\xff\xff\xff", "\x02\x00\x00\x00a", "\x01\x00\x00\x00a\x01"} {
		f.Add([]byte(s), []byte(s))
	}
	pack := func(b []byte) []byte {
		n := uint32(len(b))
		return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}, b...)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if got, want := string(withoutPrefixes(nil, append(pack(a), pack(b)...))), string(a)+string(b); got != want {
			t.Errorf("%q and %q packed and stripped are %q", a, b, got)
		}
		if _, ok := export.StripLengthPrefix(a); !ok && string(withoutPrefixes(nil, a)) != string(a) {
			t.Errorf("%q changed to %q", a, withoutPrefixes(nil, a))
		}
	})
}
