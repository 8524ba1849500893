package hub

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// An answer is an http.RoundTripper that gives the same answer to each request.
type answer struct {
	status int
	body   string
}

func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// FuzzFetchRows checks that no answer of a datasets server makes the reader panic, hang or use
// much memory, and that the rows that it takes are JSON.
func FuzzFetchRows(f *testing.F) {
	for _, body := range []string{`{"rows":[{"row_idx":0,"row":{"a":"b"}}]}`, `{"rows":[]}`, `{"rows":null}`, `{"error":"x\u001b[1m"}`, `[]`, `{"rows":[1,"x",null]}`, "\xff"} {
		f.Add(200, body)
		f.Add(404, body)
	}
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 || status/100 == 3 {
			status = http.StatusOK
		}
		c := Config{Endpoint: "http://hub.example", Client: &http.Client{Transport: answer{status, body}}}
		testenv.BoundMemory(t, len(body), 4<<20, 1000, func() {
			const n = 3 // an answer with one row is asked for three times
			rows, err := c.FetchRows(t.Context(), questions, n)
			if err != nil && !strings.Contains(err.Error(), questions.Name) {
				t.Errorf("%q: error %q, want one that names the dataset", body, err)
			}
			if err == nil && !json.Valid(rows) {
				t.Errorf("%q: the rows %q are not JSON", body, rows)
			}
		})
	})
}
