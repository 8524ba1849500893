package dialect

import (
	"math"
	"testing"

	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A tool gets no request at an impossible time, and no number of tokens that cannot be true.
func TestSieve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		start uint64
		end   uint64
		st    *export.Stated
		ok    bool
		kept  *int64 // OutputTokens
		err   string // "" for none
	}{
		{"honest", 1000, 1010, &export.Stated{OutputTokens: new(int64(5))}, true, new(int64(5)), ""},
		{"nothing stated", 1000, 1010, nil, true, nil, ""},
		{"below 0", 1000, 1010, &export.Stated{OutputTokens: new(int64(-5))}, true, nil, "numbers in 1 request are impossible, such as -5 tokens: the figures leave them out"},
		{"too many", 1000, 1010, &export.Stated{OutputTokens: new(int64(math.MaxInt64))}, true, nil, "numbers in 1 request are impossible, such as 9223372036854775807 tokens: the figures leave them out"},
		{"start", 1 << 63, 1<<63 + 1, nil, false, nil, "numbers in 1 request are impossible, such as the time 9223372036854775808: the figures leave them out"},
		{"end", 1000, math.MaxUint64, nil, false, nil, "numbers in 1 request are impossible, such as the time 18446744073709551615: the figures leave them out"},
	} {
		q := &export.Request{StartNS: tt.start, Stated: tt.st, Responses: []export.Response{{RecvNS: tt.end}}}
		s := sieve{bounds: answer.BoundsOf(&export.Run{})}
		got, ok := s.pass(q)
		if ok != tt.ok {
			t.Errorf("%s: ok = %v", tt.name, ok)
		}
		if err := s.err(); (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if ok && tt.st != nil && ((got.Stated.OutputTokens == nil) != (tt.kept == nil) || tt.kept != nil && *got.Stated.OutputTokens != *tt.kept) {
			t.Errorf("%s: %+v", tt.name, got.Stated)
		}
		if tt.st != nil && q.Stated.OutputTokens == nil {
			t.Errorf("%s: the request of the reader changed", tt.name)
		}
	}
}
