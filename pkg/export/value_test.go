package export

import (
	"strings"
	"testing"
)

func TestStripLengthPrefix(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		ok             bool
	}{
		{"one string", "\x02\x00\x00\x00hi", "hi", true},
		{"34 bytes: the length is a quote", "\"\x00\x00\x00" + strings.Repeat("x", 34), strings.Repeat("x", 34), true},
		{"200 bytes: the length is no UTF-8", "\xc8\x00\x00\x00" + strings.Repeat("x", 200), strings.Repeat("x", 200), true},
		{"several strings: only the first length goes", "\x02\x00\x00\x00ab\x03\x00\x00\x00xyz", "ab\x03\x00\x00\x00xyz", true},
		{"edge: an empty string", "\x00\x00\x00\x00", "", true},
		{"edge: empty strings behind", "\x01\x00\x00\x00a\x00\x00\x00\x00\x00\x00\x00\x00", "a\x00\x00\x00\x00\x00\x00\x00\x00", true},
		{"edge: nothing", "", "", false},
		{"edge: too short for a length", "hi", "hi", false},
		{"no prefix", "hello", "hello", false},
		{"too long", "\x03\x00\x00\x00hi", "\x03\x00\x00\x00hi", false},
		{"too short", "\x01\x00\x00\x00hi", "\x01\x00\x00\x00hi", false},
		{"a second string that is cut", "\x02\x00\x00\x00ab\x04\x00\x00\x00xyz", "\x02\x00\x00\x00ab\x04\x00\x00\x00xyz", false},
		{"edge: the largest length", "\xff\xff\xff\xffhi", "\xff\xff\xff\xffhi", false},
		{"stripped already, several", "ab\x03\x00\x00\x00xyz", "ab\x03\x00\x00\x00xyz", false},
	} {
		got, ok := StripLengthPrefix([]byte(tt.in))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("%s: StripLengthPrefix(%q) = %q, %v, want %q, %v", tt.name, tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestStreamFlag(t *testing.T) {
	for _, tt := range []struct {
		name         string
		inputs       Fields
		stream, said bool
	}{
		{"none", Fields{{Name: "text_input", Value: Text("stream")}}, false, false},
		{"no inputs", nil, false, false},
		{"a BOOL", Fields{{Name: "text_input", Value: Text("x")}, {Name: "stream", Value: JSON("true")}}, true, true},
		{"an array of one", Fields{{Name: "STREAM", Value: JSON("[false]")}}, false, true},
		{"a batch that agrees", Fields{{Name: "STREAM", Value: JSON("[true,true]")}}, true, true},
		{"a batch that does not", Fields{{Name: "STREAM", Value: JSON("[true,false]")}}, false, false},
		{"raw bytes", Fields{{Name: "STREAM", Value: Text("\x01")}}, true, true},
		{"raw bytes of a batch", Fields{{Name: "STREAM", Value: Text("\x00\x00")}}, false, true},
		{"a number", Fields{{Name: "Stream", Value: JSON("1")}}, true, true},
		{"a word", Fields{{Name: "stream", Value: Text("false")}}, false, true},
		{"something else", Fields{{Name: "stream", Value: Text("river")}}, false, false},
		{"nothing", Fields{{Name: "stream", Value: JSON("[]")}}, false, false},
		{"an empty string", Fields{{Name: "stream", Value: Text("")}}, false, false},
	} {
		if stream, said := tt.inputs.StreamFlag(); stream != tt.stream || said != tt.said {
			t.Errorf("%s: %v, %v, want %v, %v", tt.name, stream, said, tt.stream, tt.said)
		}
	}
}
