package dialect

import "testing"

func TestNames(t *testing.T) {
	report := func(family, release string) *Tool {
		name := family + release
		return &Tool{Name: name, Family: family, Listed: name, New: func(Input) (Analysis, error) { return nil, nil }}
	}
	hidden := report("c", "-0")
	hidden.Listed = ""
	for _, tt := range []struct {
		tools []*Tool
		want  string
	}{
		{nil, ""},
		{[]*Tool{report("a", "")}, "a"},
		{[]*Tool{report("a", ""), report("b", "-1"), report("b", "-2"), {Name: "file", Listed: "file"}}, "a, b-1, b-2"},
		{[]*Tool{report("b", "-1"), report("b", "-2"), report("b", "-3"), report("b", "-4"), report("b", "-latest"), hidden, report("c", "")}, "b-1 to -latest, c"},
	} {
		if got := NewRegistry(tt.tools...).Names(); got != tt.want {
			t.Errorf("Names = %q, want %q", got, tt.want)
		}
	}
}
