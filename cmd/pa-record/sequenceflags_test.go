package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestSequenceFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--sequence-id-range 0:5", "--sequence-id-range 0:5: 0 means no sequence; begin with 1"},
		{"--sequence-id-range 5:4", "the first id is above the last"},
		{"--sequence-id-range x", "expected FIRST:LAST"},
		{"--sequence-id-range 1:" + strconv.FormatUint(1<<63, 10), "expected FIRST:LAST"},
		{"--num-of-sequences 0", "--num-of-sequences 0: must be at least 1"},
		{"--sequence-length-variation -1", "must not be negative"},
		{"--service-kind openai --sequence-length 3", "sequences are for Triton's models"},
	} {
		if _, err := parse(t, "", append([]string{"-m", "x"}, strings.Fields(tt.args)...)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
	s, err := parse(t, "", strings.Fields("-m x --sequence-length -3 --sequence-id-range 7")...)
	if err != nil {
		t.Fatal(err)
	}
	if q := s.Sequence.resolve(true, 9); q.Length != 20 || q.First != 7 || q.Last != 0 || q.Variation != 0.2 || q.Seed != 9 {
		t.Errorf("sequences %+v", q)
	}
	if s, err = parse(t, "", "-m", "x"); err != nil || s.Sequence.resolve(true, 0).Length != 0 || s.Sequence.resolve(false, 0).Length != 20 {
		t.Errorf("%v: lengths of files and of made-up data: %v", err, fmt.Sprint(s))
	}
}
