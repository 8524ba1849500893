package export

import "testing"

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
