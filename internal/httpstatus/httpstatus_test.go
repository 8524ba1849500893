package httpstatus_test

import (
	"net/http"
	"testing"

	"github.com/pa-tools/pa/internal/httpstatus"
)

func TestText(t *testing.T) {
	for code := -1; code <= 1000; code++ {
		if got, want := httpstatus.Text(code), http.StatusText(code); got != want {
			t.Errorf("Text(%d) = %q, want %q", code, got, want)
		}
	}
}
