package openai_test

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// The parser finds nothing in an empty frame either.
func TestIsEmptyFrame(t *testing.T) {
	for _, tt := range []struct {
		frame string
		want  bool
	}{
		{":\n\n", true},
		{": keep-alive\n\n", true},
		{"\n\n:\r\n\r\n", true},
		{":" + strings.Repeat(" x", 1000) + "\n\n", true},
		{"data:\n\n", true},
		{"data: \n\n", true},
		{"data\n\n", true},
		{"data: {}\n\n", true},
		{"data:{} \r\n\r\n", true},
		{"data: null\n\n", true},
		{"event: ping\n\n", true},
		{"event: ping\ndata: {}\n\n", true},
		{"id: 7\nretry: 100\n: x\n\n", true},
		{"", true}, // edge
		{"data: [DONE]\n\n", false},
		{"data: {\"a\":1}\n\n", false},
		{"data: []\n\n", false},
		{"data: 0\n\n", false},
		{"data: nullify\n\n", false},
		{"data: {}\ndata: {}\n\n", false}, // joined it is no JSON
		{"data:\ndata: x\n\n", false},
		{"event: error\n\n", false},
		{"event: error\ndata: {}\n\n", false},
		{": comment\ndata: x\n\n", false},
		{"dataset: x\n\n", false},
		{"hello\n\n", false},
		{"{\"error\":\"gone\"}\n\n", false},
	} {
		if got := openai.IsEmptyFrame([]byte(tt.frame)); got != tt.want {
			t.Errorf("IsEmptyFrame(%.40q) = %v, want %v", tt.frame, got, tt.want)
		}
		var c openai.Chunk
		if err := openai.ParseFrame([]byte(tt.frame), &c); tt.want && (err != nil || c.HasOutput() || c.Error != nil || c.Done || c.HasUsage || len(c.Choices) > 0) {
			t.Errorf("%.40q says something: %+v, %v", tt.frame, c, err)
		}
	}
}

func BenchmarkIsEmptyFrame(b *testing.B) {
	frame := []byte(`data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n")
	b.ReportAllocs()
	for b.Loop() {
		if openai.IsEmptyFrame(frame) {
			b.Fatal("empty")
		}
	}
}
