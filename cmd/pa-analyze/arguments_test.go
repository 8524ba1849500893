package main

import (
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/analyze/diff"
)

func TestSides(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.json", "b.json", "x=1.json", "old=.json", "c1.json", "c2.json"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type list = []string
	for _, tt := range []struct {
		args         list
		sides        diff.Sides
		older, newer list
		err          string
	}{
		{args: list{"a.json", "b.json"}, older: list{"a.json"}, newer: list{"b.json"}},
		{args: list{"old=a.json", "new=b.json"}, older: list{"a.json"}, newer: list{"b.json"}},
		{args: list{"new=b.json", "old=a.json"}, older: list{"a.json"}, newer: list{"b.json"}},
		{args: list{"vllm=a.json", "ours=b.json"}, sides: diff.Sides{Old: "vllm", New: "ours"}, older: list{"a.json"}, newer: list{"b.json"}},
		{args: list{"ours=c*.json", "vllm=a.json", "ours=b.json"}, sides: diff.Sides{Old: "ours", New: "vllm"}, older: list{"c1.json", "c2.json", "b.json"}, newer: list{"a.json"}},
		{args: list{"ours=a.json", "old=b.json"}, sides: diff.Sides{Old: "old", New: "ours"}, older: list{"b.json"}, newer: list{"a.json"}},
		{args: list{"new=a.json", "main=b.json"}, sides: diff.Sides{Old: "main", New: "new"}, older: list{"b.json"}, newer: list{"a.json"}},
		{args: list{"v1.2 beta=a.json", "größer=b.json"}, sides: diff.Sides{Old: "v1.2 beta", New: "größer"}, older: list{"a.json"}, newer: list{"b.json"}},
		// a file whose name contains "="
		{args: list{"x=1.json", "b.json"}, older: list{"x=1.json"}, newer: list{"b.json"}},
		{args: list{"a.json", "old=.json"}, older: list{"a.json"}, newer: list{"old=.json"}},
		{args: list{"p=x=1.json", "q=b.json"}, sides: diff.Sides{Old: "p", New: "q"}, older: list{"x=1.json"}, newer: list{"b.json"}},
		{args: list{"dir/x=2.json", "b.json"}, older: list{"dir/x=2.json"}, newer: list{"b.json"}},
		{args: list{"p=a.json", "x=1.json"}, err: `"x=1.json" has no name and p= has one: give each file the name of its side, such as p=FILES`},
		{args: list{"p=a.json", "b.json"}, err: `"b.json" has no name and p= has one: give each file the name of its side, such as p=FILES`},
		{args: list{"p=a.json", "q=b.json", "r=c1.json"}, err: "the files have 3 names, p=, q= and r=; diff compares two sides"},
		{args: list{"p=a.json"}, err: "no file to compare p with; give one side another name, NAME=FILES"},
		{args: list{"new=a.json"}, err: "no old file given; give old=FILES"},
		{args: list{"a.json"}, err: "1 file given; diff OLD NEW takes two, and diff old=FILES new=FILES several a side"},
		{args: list{"p=a.json,a.json", "q=b.json"}, err: "a.json is given twice as p: a run counts once"},
		{args: list{"p=-", "q=-"}, err: "standard input can be read only once; give - once"},
		{args: list{"p=", "q=b.json"}, err: `"": a file name is missing`},
	} {
		sides, older, newer, err := sidesOf(tt.args)
		if tt.err != "" {
			if usage := new(cmdline.UsageError); err == nil || err.Error() != tt.err || !errors.As(err, &usage) {
				t.Errorf("%q: %v, want the usage error %s", tt.args, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
			continue
		}
		if d := cmp.Diff([]any{tt.sides, tt.older, tt.newer}, []any{sides, older, newer}); d != "" {
			t.Errorf("%q (-want +got):\n%s", tt.args, d)
		}
	}
}
