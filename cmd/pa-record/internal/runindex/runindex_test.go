package runindex

import (
	"slices"
	"testing"
)

func TestIndex(t *testing.T) {
	for _, tt := range []struct {
		of                                  Index
		text, prefix, title, short, inTable string
	}{
		{Index{1, 1, "", false}, "run 1 of 1", "", "Run 1 of 1", "", "run: 1"},
		{Index{2, 3, "", false}, "run 2 of 3", "run 2 of 3, ", "Run 2 of 3", "run 2/3", "run: 2"},
		{Index{1, 2, "", true}, "warm-up run 1 of 2", "warm-up run 1 of 2, ", "Warm-up run 1 of 2", "warm-up run 1 of 2", "run: 1"},
		{Index{1, 1, "old", true}, "old, warm-up run 1 of 1", "old, warm-up run 1 of 1, ", "old, warm-up run 1 of 1", "old, warm-up run 1 of 1", "server: old, run: 1"},
		{Index{1, 1, "old", false}, "old", "old, ", "old", "old", "server: old, run: 1"},
		{Index{2, 3, "old", false}, "old, run 2 of 3", "old, run 2 of 3, ", "old, run 2 of 3", "old 2/3", "server: old, run: 2"},
	} {
		if got := []string{tt.of.String(), tt.of.Prefix(), tt.of.Title(), tt.of.Short(), tt.of.Place()}; !slices.Equal(got, []string{tt.text, tt.prefix, tt.title, tt.short, tt.inTable}) {
			t.Errorf("%+v: %q", tt.of, got)
		}
	}
}
