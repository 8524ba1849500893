package exporttest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// Open opens an export or a journal until the end of the test.
func Open(t testing.TB, path string) export.Reader {
	t.Helper()
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() }) // only read
	return r
}

// Read returns the header of an export and clones of all its requests. A warning of
// the reader fails the test.
func Read(t testing.TB, path string) (*export.Run, []export.Request) {
	t.Helper()
	r := Open(t, path)
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

// AnswerID returns the id that an OpenAI server gave its answer to r; ok is false if
// the answer has none.
func AnswerID(r *export.Request) (id string, ok bool) {
	m := answerID.FindStringSubmatch(Joined(r, "response"))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// Joined joins the named output of all responses of r.
func Joined(r *export.Request, name string) string {
	var b strings.Builder
	for _, p := range r.Responses {
		v, _ := p.Outputs.Get(name)
		b.Write(v.Data)
	}
	return b.String()
}
