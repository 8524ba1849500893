package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// texts returns a source of entries with one text each.
func texts(all ...string) List {
	var l List
	for i, text := range all {
		l = append(l, Entry{Step: i, Prompt: &Prompt{Text: text, MaxTokens: 10 + i}})
	}
	return l
}

// TestBatches checks that a batch holds different entries, that the choice depends only on
// the seed and the number of the request, and that all choices are about equally likely.
func TestBatches(t *testing.T) {
	const n = 6000
	src := texts("a", "b", "c", "d")
	s, err := Batches(src, Batch{N: n, Texts: 2, Images: 1, Seed: 5})
	if err != nil || s.Len() != n {
		t.Fatal(s, err)
	}
	again, _ := Batches(src, Batch{N: 1, Texts: 2, Images: 1, Seed: 5})
	seen := map[string]int{}
	for k := range n {
		e, err := s.At(k)
		if err != nil || e.Step != k || len(e.Prompt.More) != 1 {
			t.Fatalf("request %d: %+v, %v", k, e, err)
		}
		seen[e.Prompt.Text+e.Prompt.More[0]]++
		if want := 10 + strings.Index("abcd", e.Prompt.Text); e.Prompt.MaxTokens != want {
			t.Errorf("request %d asks for %d tokens, want %d as its first text", k, e.Prompt.MaxTokens, want)
		}
		if o, _ := again.At(k); o.Prompt.Text != e.Prompt.Text || o.Prompt.More[0] != e.Prompt.More[0] {
			t.Errorf("request %d is %v, in a shorter source %v", k, e.Prompt, o.Prompt)
		}
	}
	if len(seen) != 12 {
		t.Errorf("%v, want every pair of different entries", seen)
	}
	for pair, times := range seen { // the mean is 500, the standard deviation 21
		if times < 390 || times > 610 || pair[0] == pair[1] {
			t.Errorf("%s occurs %d times in %d", pair, times, n)
		}
	}
}

// TestBatchesOfImages checks that images are chosen independently of texts, and that an
// image without a text adds no text.
func TestBatchesOfImages(t *testing.T) {
	var src List
	for i := range 3 {
		src = append(src, Entry{Prompt: &Prompt{Media: []Medium{{Kind: Image, URL: fmt.Sprint(i)}}}})
	}
	s, err := Batches(src, Batch{N: 50, Texts: 1, Images: 2})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 50 {
		e, err := s.At(k)
		if err != nil || e.Prompt.Text != "" || e.Prompt.More != nil || len(e.Prompt.Media) != 2 || e.Prompt.Media[0] == e.Prompt.Media[1] {
			t.Errorf("request %d: %+v, %v", k, e.Prompt, err)
		}
	}
}

func TestRankings(t *testing.T) {
	queries, passages := texts("q", "r", "s"), texts("a", "b")
	s, err := Rankings(queries, passages, Batch{Texts: 1})
	if err != nil || s.Len() != 2 {
		t.Fatal(s, err)
	}
	for k, want := range []string{"q [a]", "r [b]"} {
		e, err := s.At(k)
		if got := fmt.Sprint(e.Prompt.Text, " ", e.Prompt.More); err != nil || got != want {
			t.Errorf("request %d is %s, %v, want %s", k, got, err, want)
		}
	}
	if s, err = Rankings(queries, passages, Batch{N: 60, Texts: 2, Images: 1}); err != nil || s.Len() != 60 {
		t.Fatal(s, err)
	}
	seen := map[string]bool{}
	for k := range 60 {
		e, err := s.At(k)
		if err != nil {
			t.Fatal(err)
		}
		seen[e.Prompt.Text] = true
		slices.Sort(e.Prompt.More)
		if fmt.Sprint(e.Prompt.More) != "[a b]" {
			t.Errorf("request %d ranks %v", k, e.Prompt.More)
		}
	}
	if len(seen) != 3 {
		t.Errorf("queries %v, want all", seen)
	}
	if queries[0].Prompt.Text != "q" || passages[0].Prompt.More != nil {
		t.Error("the sources were changed")
	}
}

func TestBatchErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  List
		want string
	}{
		{"a whole request", List{{Prompt: &Prompt{Body: []byte("{}")}}}, "input data, row 1: cannot be combined with other entries: it is a whole request"},
		{"tensors", List{{}}, "it is a whole request"},
		{"tokens", List{{Prompt: &Prompt{IDs: []uint32{1}}}}, "it holds token ids"},
		{"a turn", List{{Prompt: &Prompt{Text: "a"}, Session: "s"}}, "it is a turn of a session"},
		{"several", List{{Prompt: &Prompt{Text: "a", More: []string{"b"}}}}, "it holds 2 texts already"},
	} {
		s, err := Batches(tt.src, Batch{N: 1, Texts: 1, Images: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.At(0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Batches(texts("a"), Batch{N: 1, Texts: 2, Images: 1}); err == nil || err.Error() != "a request takes 2 entries; there are only 1" {
		t.Errorf("too few: %v", err)
	}
	s, err := Rankings(texts("q"), List{{Prompt: &Prompt{Messages: []byte("[]")}}}, Batch{Texts: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.At(0); err == nil || !strings.Contains(err.Error(), "cannot be ranked: it is a whole request") {
		t.Errorf("a conversation is ranked: %v", err)
	}
}
