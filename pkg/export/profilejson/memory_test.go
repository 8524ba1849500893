package profilejson

import (
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A request whose responses take more memory than the limit is refused, also if its text is within a raised
// MaxValueBytes. The error names the request and the flag.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const responses = itemsFactor*export.DefaultMaxValueBytes/itemBytes + 2
	times := strings.Repeat("1,", responses-1) + "1"
	file := `{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[{"timestamp":1,"response_timestamps":[2]},` +
		`{"timestamp":1,"response_timestamps":[` + times + `]}],"window_boundaries":[]}]}`
	r, err := NewReader(t.Context(), "run.json", strings.NewReader(file), int64(len(file)), export.Limits{MaxValueBytes: 1 << 40, MaxMemoryBytes: 300e6})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for r.Next() {
		n++
	}
	want := "request 1: the request has more than 5,162,220 responses and outputs, which take more memory than the limit of 300000000 bytes; if the file is sound, raise the limit with --memory-limit"
	if n != 1 || r.Err() == nil || !strings.Contains(r.Err().Error(), want) {
		t.Errorf("%d requests, %v, want %q", n, r.Err(), want)
	}
}
