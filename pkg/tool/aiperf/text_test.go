package aiperf

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

func TestRequestedTokens(t *testing.T) {
	for _, tt := range []struct {
		payload string
		want    int64
		ok      bool
	}{
		{`{"max_completion_tokens": 7, "max_tokens": 8}`, 7, true},
		{`{"max_tokens": 8, "max_output_tokens": 9}`, 8, true},
		{`{"max_output_tokens": 9}`, 9, true},
		{`{"max_tokens": 1e3}`, 1000, true},
		{`{"max_tokens": 128.0}`, 128, true},
		{`{"max_tokens": 0}`, 0, false},
		{`{"max_tokens": -1}`, -1, false},
		{`{"max_tokens": 1e300}`, 0, false},
		{`{"max_tokens": "8"}`, 0, false},
		{`{}`, 0, false},
		{`no JSON`, 0, false},
	} {
		q := export.Request{Inputs: export.Fields{{Name: "payload", Value: export.Text(tt.payload)}}}
		got, ok := requestedTokens(dialect.Payload(&q))
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("requestedTokens of %s = %d, %v; want %d, %v", tt.payload, got, ok, tt.want, tt.ok)
		}
	}
}
