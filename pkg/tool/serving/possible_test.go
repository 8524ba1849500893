package serving

import (
	"testing"

	"github.com/pa-tools/pa/internal/py"
)

// A usage that cannot be true is none, so that no sum of a report overflows.
func TestImpossibleUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`{"n":7}`: 7, `{"n":0}`: 0, `{"n":-7}`: -1, `{"n":1099511627775}`: 1<<40 - 1, `{"n":1099511627776}`: -1, `{"n":9223372036854775807}`: -1, `{}`: -1,
	} {
		v, err := py.ParseJSON(text, py.JSON)
		if err != nil {
			t.Fatal(err)
		}
		if got := count(v, "n"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
