package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// diff, definitions and requests follow --width as report does, lose no word of text by it,
// and take COLUMNS where the flag is not given.
func TestWidthOfCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	var files []string
	for seed := range 2 {
		m := &maker{Rand: rand.New(rand.NewPCG(uint64(seed), 4))}
		r := &madeRun{levels: []madeLevel{{users: 4}}}
		m.usage = 100
		for range 30 {
			m.clock += 1e9
			q := &madeRequest{start: m.clock, outcome: "ok"}
			m.answer(q, false, false)
			if !strings.Contains(q.json, `"reason"`) { // a long status moves its line to the right
				r.levels[0].requests = append(r.levels[0].requests, q)
			}
		}
		files = append(files, fmt.Sprintf("run%d.json", seed))
		if err := os.WriteFile(files[seed], []byte(r.text()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	widest := func(text string) int {
		n := 0
		for line := range strings.Lines(text) {
			n = max(n, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
		}
		return n
	}
	for _, tt := range []struct {
		args  []string
		width int
	}{
		{append([]string{"diff", "--ignore", "all"}, files...), 70},
		{[]string{"definitions", files[0]}, 64},
		{[]string{"definitions", files[0]}, 45}, // in parts
		{[]string{"requests", files[0]}, 86},
	} {
		t.Run(fmt.Sprint(tt.args[0], " ", tt.width), func(t *testing.T) {
			t.Setenv("COLUMNS", "")
			wide := exec(t, "", tt.args...)
			narrow := exec(t, "", slices.Insert(slices.Clone(tt.args), 1, "--width", fmt.Sprint(tt.width))...)
			t.Setenv("COLUMNS", fmt.Sprint(tt.width))
			byColumns := exec(t, "", tt.args...)
			if wide.code != 0 || narrow.code != 0 || byColumns.stdout != narrow.stdout {
				t.Fatalf("exit codes %d, %d; COLUMNS as --width: %t: %s", wide.code, narrow.code, byColumns.stdout == narrow.stdout, narrow.stderr)
			}
			if got := widest(wide.stdout); got <= tt.width {
				t.Errorf("without a width: %d columns, want more than %d:\n%s", got, tt.width, wide.stdout)
			}
			if got := widest(narrow.stdout); got > tt.width {
				t.Errorf("--width %d: %d columns:\n%s", tt.width, got, narrow.stdout)
			}
			if tt.args[0] == "requests" {
				return // messages are cut
			}
			for _, word := range strings.Fields(wide.stdout) {
				if !strings.Contains(narrow.stdout, word) && !strings.Contains(narrow.stdout, "…") {
					t.Errorf("--width %d lost %q", tt.width, word)
				}
			}
		})
		if res := exec(t, "", tt.args[0], "--width", "0", "x.json", "y.json"); res.code != 2 || !strings.Contains(res.stderr, "--width 0: give a number of columns above 0") {
			t.Errorf("%s --width 0: exit code %d: %s", tt.args[0], res.code, res.stderr)
		}
	}
}
