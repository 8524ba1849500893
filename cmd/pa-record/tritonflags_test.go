package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/observe"
)

func TestTritonFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"-m x --grpc-compression-algorithm gzip", "--grpc-compression-algorithm needs -i grpc"},
		{"-m x -i grpc --grpc-compression-algorithm brotli", "expected none, gzip or deflate"},
		{"-m x --trace-level SOME", "--trace-level SOME: expected OFF, TIMESTAMPS or TENSORS"},
		{"-m x --trace-rate 0", "--trace-rate 0: must be at least 1"},
		{"-m x --trace-count -2", "must be at least -1"},
		{"-m x --log-frequency -1", "must be at least 0"},
		{"-m x --bls-composing-models a,,b", "a model has no name"},
		{"--service-kind openai --trace-rate 5", "--trace-rate belongs to --service-kind triton"},
	} {
		if _, err := parse(t, "", strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
	s, err := parse(t, "", strings.Fields("-m x --bls-composing-models a:1,b")...)
	if want := []observe.ModelRef{{Name: "a", Version: "1"}, {Name: "b"}}; err != nil || !slices.Equal(s.blsModels, want) {
		t.Errorf("%v: models %v, want %v", err, s.blsModels, want)
	}
	s, err = parse(t, "", strings.Fields("-m x -i grpc --grpc-compression-algorithm none --trace-rate 5")...)
	if err != nil || s.Compression != "" || s.TraceRate != "5" || !slices.Equal(s.TraceLevels, nil) {
		t.Errorf("%v: %+v", err, s)
	}
}
