package profilejson

import (
	"context"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func TestSniff(t *testing.T) {
	for _, tt := range []struct {
		head string
		want bool
	}{
		{`{"experiments":[{"experiment":{"mode"`, true},
		{"\ufeff \n{ \"experiments\" : [", true},
		{`{"experiments"`, false}, // hardly a file
		{`{"version":"1","service_kind":"openai","endpoint":"","experiments":[]}`, true},
		{`{"version":"1","service_kind":"op`, true}, // cut: nothing against it
		{`{"pa":{"schema":"pa-export/1","args":["`, true},
		{`{"note":{"a":[1,2]},"experiments":[`, true},
		{`{"note":"the head ends before the experi`, false},
		{`{"version":"1"}`, false},
		{`{"version":"1","records":[`, false},
		{`{"date":"2024","total_input_tokens":1,"ttfts":[`, false},
		{`{"experi`, false},
		{`{}`, false},
		{`{`, false},
		{`[{"experiments":[]}]`, false},
		{`"experiments"`, false},
		{``, false},
		{"\x1f\x8b\x08", false},
		{`{"a":nope,"experiments":[`, false},
	} {
		if got := (Format{}).Sniff([]byte(tt.head)); got != tt.want {
			t.Errorf("Sniff(%q) = %v, want %v", tt.head, got, tt.want)
		}
	}
}

// A failed Open returns no Reader, not one that holds a nil pointer.
func TestFormatOpen(t *testing.T) {
	r, err := Format{}.Open(context.Background(), "x.json", strings.NewReader("[]"), 2, export.Limits{})
	if r != nil || err == nil {
		t.Errorf("Open = %v, %v", r, err)
	}
}
