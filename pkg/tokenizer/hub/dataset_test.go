package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var questions = Dataset{Name: "org/questions", Config: "default", Split: "train", Files: []string{"train-*.parquet", "data/*.json"}}

// datasetServer starts a datasets server for one dataset. Like the real server, it returns
// at most 100 rows at a time, and errors as JSON. asked lists the requests.
func datasetServer(t *testing.T, rows int) (_ *httptest.Server, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		offset, err1 := strconv.Atoi(q.Get("offset"))
		length, err2 := strconv.Atoi(q.Get("length"))
		*asked = append(*asked, fmt.Sprintf("%s %d+%d %s", r.URL.Path, offset, length, r.Header.Get("Authorization")))
		switch {
		case q.Get("dataset") != "org/questions" || q.Get("config") != "default" || q.Get("split") != "train":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":"The dataset does not exist, or is not accessible without authentication."}`)
			return
		case err1 != nil || err2 != nil || length > 100:
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"error":"Parameter 'length' must not be greater than 100"}`)
			return
		}
		fmt.Fprint(w, `{"features":[{"feature_idx":0,"name":"question"}],"rows":[`)
		for i := offset; i < min(offset+length, rows); i++ {
			if i > offset {
				fmt.Fprint(w, ",")
			}
			fmt.Fprintf(w, `{"row_idx":%d,"row":{"question":"q%d"},"truncated_cells":[]}`, i, i)
		}
		fmt.Fprintf(w, `],"num_rows_total":%d,"num_rows_per_page":100,"partial":false}`, rows)
	}))
	t.Cleanup(s.Close)
	return s, asked
}

func TestFetchRows(t *testing.T) {
	server, asked := datasetServer(t, 230)
	c := Config{Endpoint: server.URL, Token: "hf_secret"}
	tests := []struct {
		n, want int
		asked   []string
	}{
		{1, 1, []string{"/rows 0+1 Bearer hf_secret"}},
		{100, 100, []string{"/rows 0+100 Bearer hf_secret"}},
		{150, 150, []string{"/rows 0+100 Bearer hf_secret", "/rows 100+50 Bearer hf_secret"}},
		{300, 230, []string{"/rows 0+100 Bearer hf_secret", "/rows 100+100 Bearer hf_secret", "/rows 200+100 Bearer hf_secret", "/rows 230+70 Bearer hf_secret"}}, // there are fewer
	}
	for _, test := range tests {
		*asked = nil
		text, err := c.FetchRows(t.Context(), questions, test.n)
		if err != nil {
			t.Fatalf("%d rows: %v", test.n, err)
		}
		var got struct {
			Rows []struct {
				Row struct{ Question string }
			}
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%d rows: %v", test.n, err)
		}
		if len(got.Rows) != test.want {
			t.Errorf("%d rows, asked for %d, want %d", len(got.Rows), test.n, test.want)
		}
		for i, r := range got.Rows {
			if want := fmt.Sprintf("q%d", i); r.Row.Question != want {
				t.Fatalf("row %d is %q, want %q", i, r.Row.Question, want)
			}
		}
		if diff := cmp.Diff(test.asked, *asked); diff != "" {
			t.Errorf("%d rows: asked (-want +got):\n%s", test.n, diff)
		}
	}
}

func TestFetchRowsErrors(t *testing.T) {
	answers := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	elsewhere, asked := datasetServer(t, 5)
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/rows?"+"dataset=org/questions&config=default&split=train&offset=0&length=5", http.StatusFound))
	t.Cleanup(redirecting.Close)
	gone := httptest.NewServer(nil)
	gone.Close()
	missing, _ := datasetServer(t, 5)
	tests := []struct {
		name, endpoint, want string
		d                    Dataset
	}{
		{"not there", missing.URL, "dataset org/other, rows from 0: HOST: 404 The dataset does not exist, or is not accessible", Dataset{Name: "org/other"}},
		{"gated", answers(401, `{"error":"gated"}`), "dataset org/questions, rows from 0: HOST: 401 gated; set HF_TOKEN", questions},
		{"broken", answers(502, `<html>`), "dataset org/questions, rows from 0: HOST: 502", questions},
		{"error as 200", answers(200, `{"error":"busy"}`), "dataset org/questions, rows from 0: HOST: 200 busy", questions},
		{"something else", answers(200, `<html>`), "dataset org/questions, rows from 0: HOST: the answer is not the JSON of a datasets server", questions},
		{"no rows", answers(200, `{}`), `dataset org/questions, rows from 0: HOST: the answer has no "rows"`, questions},
		{"too many rows", answers(200, `{"rows":[1,2,3,4,5,6]}`), "dataset org/questions, rows from 0: HOST: 6 rows, where 5 were asked for", questions},
		{"another host", redirecting.URL, "dataset org/questions, rows from 0: HOST: 302", questions},
		{"no server", gone.URL, "dataset org/questions, rows from 0: HOST: dial tcp", questions},
		{"endpoint", "user:hf_secret", "dataset org/questions, rows from 0: HF_ENDPOINT is not an http or https URL", questions},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Config{Endpoint: test.endpoint, Token: "hf_secret"}.FetchRows(t.Context(), test.d, 5)
			want := strings.ReplaceAll(test.want, "HOST", strings.TrimPrefix(test.endpoint, "http://"))
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %v", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("a credential in %q", err)
			}
		})
	}
	if len(*asked) > 0 {
		t.Errorf("the other host was asked: %v", *asked)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Config{Endpoint: elsewhere.URL}).FetchRows(cancelled, questions, 5); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := (Config{Endpoint: elsewhere.URL, Offline: true}).FetchRows(t.Context(), questions, 5); !errors.Is(err, ErrOffline) || len(*asked) > 0 {
		t.Errorf("offline: %v; asked %v", err, *asked)
	}
}

func TestDatasetServer(t *testing.T) {
	for endpoint, want := range map[string]string{
		"":                        "https://datasets-server.huggingface.co",
		"https://hub.example/":    "https://datasets-server.hub.example",
		"http://127.0.0.1:8080":   "http://127.0.0.1:8080",
		"https://hub.example:444": "https://datasets-server.hub.example:444",
	} {
		if got := (Config{Endpoint: endpoint}).DatasetServer(); got != want {
			t.Errorf("%q: %s, want %s", endpoint, got, want)
		}
	}
}

func TestCachedFiles(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "with [brackets]")
	c := Config{Cache: cache}
	repo := filepath.Join(cache, "datasets--org--questions")
	snapshot := filepath.Join(repo, "snapshots", commit)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := c.CachedFiles(questions); got != nil {
		t.Errorf("no cache: %v", got)
	}
	write(filepath.Join(repo, "refs", "main"), commit)
	if got := c.CachedFiles(questions); got != nil {
		t.Errorf("an empty snapshot: %v", got)
	}
	write(filepath.Join(snapshot, "README.md"), "x")
	write(filepath.Join(snapshot, "data", "b.json"), "x")
	write(filepath.Join(snapshot, "data", "a.json"), "x")
	want := []string{filepath.Join(snapshot, "data", "a.json"), filepath.Join(snapshot, "data", "b.json")}
	if diff := cmp.Diff(want, c.CachedFiles(questions)); diff != "" {
		t.Errorf("the second pattern (-want +got):\n%s", diff)
	}
	// A link to a missing blob does not count as a file.
	if err := os.Symlink("../../blobs/gone", filepath.Join(snapshot, "train-0.parquet")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("links need a right that users of Windows lack: %v", err)
		}
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c.CachedFiles(questions)); diff != "" {
		t.Errorf("a link to a missing blob (-want +got):\n%s", diff)
	}
	write(filepath.Join(repo, "blobs", "gone"), "x")
	want = []string{filepath.Join(snapshot, "train-0.parquet")}
	if diff := cmp.Diff(want, c.CachedFiles(questions)); diff != "" {
		t.Errorf("the first pattern (-want +got):\n%s", diff)
	}
}
