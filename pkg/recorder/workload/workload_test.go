package workload

import (
	"slices"
	"testing"
)

func TestBuiltin(t *testing.T) {
	b := Builtin()
	if len(b) == 0 {
		t.Fatal("no prompts")
	}
	for i, e := range b {
		if e.Prompt == nil || e.Prompt.Text == "" || e.Prompt.MaxTokens != BuiltinMaxTokens || e.Step != i {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

// TestLimit checks that Limit takes the first entries, or for a shuffled order different
// entries that depend on the seed.
func TestLimit(t *testing.T) {
	src := make(List, 50)
	for i := range src {
		src[i].Step = i
	}
	take := func(n int, o Order) []int {
		var steps []int
		l := Limit(src, n, o)
		for k := range l.Len() {
			e, err := l.At(k)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, e.Step)
		}
		return steps
	}
	for _, o := range []Order{{}, {Kind: Random, Seed: 3}} {
		if got := take(3, o); !slices.Equal(got, []int{0, 1, 2}) {
			t.Errorf("%v: %v, want the first three", o.Kind, got)
		}
	}
	one, other := take(20, Order{Shuffled, 1}), take(20, Order{Shuffled, 2})
	if slices.Equal(one, other) {
		t.Error("two seeds take the same entries")
	}
	slices.Sort(one)
	if len(slices.Compact(one)) != 20 || one[19] >= 50 || one[19] < 20 {
		t.Errorf("20 of 50: %v", one)
	}
	all := take(50, Order{Shuffled, 1})
	slices.Sort(all)
	for i, step := range all {
		if step != i {
			t.Fatalf("50 of 50: %v", all)
		}
	}
}

func TestPlace(t *testing.T) {
	if got := (&Entry{Stream: 1, Step: 2}).Place(); got != "input data, stream 1, step 2" {
		t.Errorf("place of a step: %q", got)
	}
	if got := (&Entry{File: "p.jsonl", Prompt: &Prompt{}, Step: 2}).Place(); got != "p.jsonl, row 3" {
		t.Errorf("place of a prompt: %q", got)
	}
}
