package recorder

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// One of a thing is not several.
func TestOneOfAThing(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&FailedError{Failures: 1, Status: export.StatusHTTPError, Code: 500}, "the first request failed: http_error 500"},
		{&FailedError{Failures: 2, Status: export.StatusHTTPError, Code: 500}, "all of the first 2 requests failed: http_error 500"},
		{
			&ErrorRateError{Load: load.Concurrency{N: 1}, Failed: 1, Ended: 1, Common: FailureKind{Status: export.StatusTimeout, N: 1}},
			"concurrency 1: 1 of 1 request failed, 100%, more than the 0% allowed; 1 of them with timeout",
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
