package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

func modelsOf(t *testing.T, src Source) []string {
	t.Helper()
	var all []string
	for k := range src.Len() {
		e, err := src.At(k)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Model)
	}
	return all
}

func named(js string) Entry {
	return Entry{Values: export.Fields{{Name: "model", Value: export.JSON(js)}}}
}

func TestModels(t *testing.T) {
	plain := func(n int) List { return make(List, n) }
	ab, abc := []string{"a", "b"}, []string{"a", "b", "c"}
	for _, tt := range []struct {
		name   string
		src    List
		choice ModelChoice
		want   string
	}{
		{"in turn", plain(4), ModelChoice{Names: ab}, "a b a b"},
		{"one entry goes to each", plain(1), ModelChoice{Names: abc}, "a b c"},
		{"rounds until all have as many", plain(2), ModelChoice{Names: abc}, "a b c a b c"},
		{"each entry once only", plain(4), ModelChoice{Names: abc, Once: true}, "a b c a"},
		{"a batch goes to one model", plain(4), ModelChoice{Names: ab, Batch: 2}, "a a b b"},
		{"batches over more rounds", plain(3), ModelChoice{Names: ab, Batch: 2}, "a a b b a a b b a a b b"},
		{"a session stays with its model", List{{Session: "x"}, {Session: "y"}, {Session: "x"}, {Session: "z"}}, ModelChoice{Names: ab, Once: true}, "a b a a"},
		{
			"the data's own model wins",
			List{
				{},
				named(`"c"`), named(`["a"]`),
				{Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"model":"d","messages":[]}]`)}}},
				{Prompt: &Prompt{Extra: export.Fields{{Name: "model", Value: export.JSON(`"e"`)}}}},
				{Prompt: &Prompt{Body: []byte(`{"model":"f"}`)}},
				{Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"messages":[]}]`)}}},
				{Prompt: &Prompt{Text: "x"}},
			},
			ModelChoice{Names: ab},
			"a c a d e f a b",
		},
	} {
		src, err := Models(tt.src, tt.choice)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := strings.Join(modelsOf(t, src), " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestRandomModels checks that the model of an entry depends only on the seed and the number
// of the entry, and that the models have equal shares.
func TestRandomModels(t *testing.T) {
	draw := func(entries int, seed uint64) []string {
		src, err := Models(make(List, entries), ModelChoice{Names: []string{"a", "b", "c", "d"}, Random: true, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return modelsOf(t, src)
	}
	few, many := draw(3, 1), draw(40_000, 1)
	if len(few) != 1002 {
		t.Errorf("%d entries, want 334 rounds of 3", len(few))
	}
	differ := 0
	other := draw(40_000, 2)
	count := map[string]int{}
	for i := range many {
		if i < len(few) && few[i] != many[i] {
			t.Fatalf("entry %d: %s among few entries, %s among many", i, few[i], many[i])
		}
		if many[i] != other[i] {
			differ++
		}
		count[many[i]]++
	}
	for name, n := range count {
		if sd := math.Sqrt(40_000 * 0.25 * 0.75); math.Abs(float64(n)-10_000) > 5*sd {
			t.Errorf("%s: %d of 40000", name, n)
		}
	}
	if differ < 29_000 || differ > 31_000 {
		t.Errorf("another seed draws another model %d times of 40000, want about 30000", differ)
	}
}

func TestModelsErrors(t *testing.T) {
	for _, js := range []string{`7`, `["a","b"]`, `{}`} {
		src, err := Models(List{named(js)}, ModelChoice{Names: []string{"a", "b"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.At(0); err == nil || !strings.Contains(err.Error(), `"model": expected a name, found `+js) {
			t.Errorf("%s: %v", js, err)
		}
	}
}
