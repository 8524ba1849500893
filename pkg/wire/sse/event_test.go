package sse_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pa-tools/pa/pkg/wire/sse"
)

func TestParse(t *testing.T) {
	data := func(s string) sse.Event { return sse.Event{Data: []byte(s), HasData: true} }
	for _, tt := range []struct {
		name string
		in   string
		want sse.Event
	}{
		{"empty", "", sse.Event{}},
		{"line endings alone", "\r\n\n\r", sse.Event{}},
		{"space after the colon", "data: a\n\n", data("a")},
		{"no space after the colon, old TGI", "data:a\n\n", data("a")},
		{"one space is taken, not two", "data:  a\n\n", data(" a")},
		{"white space at the end stays", "data: {} \n\n", data("{} ")},
		{"empty data", "data:\n\n", data("")},
		{"data without colon", "data\n\n", data("")},
		{"several lines", "data: a\ndata: b\r\ndata:\rdata: c\n\n", data("a\nb\n\nc")},
		{"two empty lines", "data\ndata\n\n", data("\n")},
		{"colon in the value", "data: a:b\n\n", data("a:b")},
		{"no line ending", "data: a", data("a")},
		{"CR", "data: a\r\r", data("a")},
		{"LF of the frame before in front", "\ndata: a\n\n", data("a")},
		{"byte order mark", "\ufeffdata: a\n\n", data("a")},
		{"byte order mark after line endings", "\n\ufeffdata: a\n\n", data("a")},
		{"byte order mark and comment", "\ufeff: a\n\n", sse.Event{Comment: true}},
		{"byte order mark alone", "\ufeff\n\n", sse.Event{}},
		{"byte order mark later", "data: a\n\ufeffdata: b\n\n", data("a")},
		{"comment", ": keep-alive\n\n", sse.Event{Comment: true}},
		{"bare comment, llama.cpp", ":\n\n", sse.Event{Comment: true}},
		{"comment and data", ": x\ndata: a\n\n", data("a")},
		{"comment and event", ": x\nevent: ping\n\n", sse.Event{Name: []byte("ping")}},
		{
			"name, id, retry", "event: error\nid: 7\nretry: 1500\ndata: a\n\n",
			sse.Event{Name: []byte("error"), ID: []byte("7"), Retry: 1500 * time.Millisecond, Data: []byte("a"), HasData: true},
		},
		{"the last name counts", "event: a\nevent: b\n\n", sse.Event{Name: []byte("b")}},
		{"id with NUL is skipped", "id: a\x00\n\n", sse.Event{}},
		{"retry that is no number", "retry: soon\nretry: -1\nretry: 99999999999\n\n", sse.Event{}},
		{"unknown names", "foo: bar\nDATA: a\ndata : b\n\n", sse.Event{}},
		{"JSON", `{"error":"x"}`, sse.Event{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sse.Parse([]byte(tt.in)), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Parse(%q) (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// TestParseAliasing checks that Data aliases the frame with one "data:" line, and is a copy
// with several.
func TestParseAliasing(t *testing.T) {
	frame := []byte("data: a\ndata: b\n\n")
	want := bytes.Clone(frame)
	if got := sse.Parse(frame).Data; string(got) != "a\nb" {
		t.Fatalf("Data = %q, want \"a\\nb\"", got)
	}
	if !bytes.Equal(frame, want) {
		t.Errorf("Parse changed the frame to %q", frame)
	}
	one := []byte("event: x\ndata: {}\n\n")
	if n := testing.AllocsPerRun(100, func() { sse.Parse(one) }); n != 0 {
		t.Errorf("Parse of a frame with one data line makes %v allocations, want 0", n)
	}
}
