package openai_test

import (
	"net/http"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

func TestStatusText(t *testing.T) {
	for code := -1; code <= 1000; code++ {
		if got, want := openai.StatusText(code), http.StatusText(code); got != want {
			t.Errorf("StatusText(%d) = %q, want %q", code, got, want)
		}
	}
}
