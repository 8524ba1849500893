package journal

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// readExport reads a whole export.
func readExport(t testing.TB, path string) (*export.Run, []export.Request) {
	t.Helper()
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []export.Request
	for r.Next() {
		all = append(all, *r.Request().Clone())
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if w := r.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %v", w)
	}
	return r.Run(), all
}

var answerID = regexp.MustCompile(`"id": ?"([^"]+)"`)

// joined joins the named output of all responses.
func joined(r *export.Request, name string) string {
	var b strings.Builder
	for _, p := range r.Responses {
		v, _ := p.Outputs.Get(name)
		b.Write(v.Data)
	}
	return b.String()
}
