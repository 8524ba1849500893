package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A flusher records the requests to flush a cache, and refuses them if fail is set.
type flusher struct {
	mu    sync.Mutex
	asked []string // method, path, and key
	fail  bool
}

func (f *flusher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+strings.Join(r.Header.Values("Authorization"), ",")))
	if f.fail {
		http.Error(w, "no cache here for "+r.URL.RawQuery+" "+r.Header.Get("Authorization"), http.StatusNotFound)
	}
}

func (f *flusher) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.asked
	f.asked = nil
	return all
}

// It is asked between levels and between runs, and not before the first.
func TestBetweenLevels(t *testing.T) {
	const key = "sk-0123456789"
	f := &flusher{}
	srv := httptest.NewServer(f)
	defer srv.Close()
	export := filepath.Join(t.TempDir(), "e.json")
	args := []string{
		"-u", "sim://?ttft=1ms&itl=1ms&output_tokens=1", "--request-count", "1x", "--quiet", "--profile-export-file", export, "--overwrite",
		"-H", "Authorization: Bearer " + key,
	}
	run := func(more ...string) (int, string) {
		code, _, stderr := inProcess(t.Context(), t, append(args, more...)...)
		return code, stderr
	}
	if code, stderr := run("--concurrency-range", "1,2,1", "--between-levels", srv.URL+"/flush"); code != 0 || strings.Join(f.taken(), ",") != "POST /flush,POST /flush" {
		t.Errorf("exit code %d, %s; want two posts without the key, which is another server's", code, stderr)
	}
	if code, stderr := run("--concurrency-range", "1,2", "--repeat", "2", "--between-levels", srv.URL+"/a", "--between-levels", srv.URL+"/b"); code != 0 || strings.Join(f.taken(), ",") != "POST /a,POST /b,POST /a,POST /b,POST /a,POST /b" {
		t.Errorf("exit code %d, %s; want both between levels and runs", code, stderr)
	}
	if code, stderr := run("--between-levels", srv.URL+"/flush"); code != 0 || f.taken() != nil || !strings.Contains(stderr, "note: --between-levels has no effect: there is one level") {
		t.Errorf("one level: exit code %d, %s", code, stderr)
	}
	// A failure ends the run, names its cause, and keeps what was measured. No secret shows.
	f.fail = true
	code, stderr := run("--concurrency-range", "1,2", "--between-levels", strings.Replace(srv.URL, "//", "//me:hunter22@", 1)+"/flush?token=abcdefgh")
	written, err := os.ReadFile(export)
	if code != 1 || !strings.Contains(stderr, "--between-levels http://[redacted]@") || !strings.Contains(stderr, "404 Not Found: no cache here for") || err != nil {
		t.Errorf("exit code %d, %s (%v)", code, stderr, err)
	}
	for _, secret := range []string{"hunter22", "abcdefgh", key} {
		if strings.Contains(stderr, secret) || strings.Contains(string(written), secret) {
			t.Errorf("%q is told: %s", secret, stderr)
		}
	}
	if !strings.Contains(string(written), `"measured":1`) {
		t.Error("what was measured before is lost")
	}
	if asked := f.taken(); len(asked) != 1 || !strings.HasPrefix(asked[0], "POST /flush Basic ") {
		t.Errorf("asked %q, want it once with the name and password of its URL", asked)
	}
}

// The key is not sent to the server whose -u has a user name, and is to the other one.
func TestBetweenLevelsOfSeveral(t *testing.T) {
	f := &flusher{}
	srv, other := httptest.NewServer(f), httptest.NewServer(f)
	defer srv.Close()
	defer other.Close()
	s, err := parse(t, "sk-0123456789", "--service-kind", "openai", "-u", strings.Replace(srv.URL, "//", "//me:pw@", 1), "-u", other.URL,
		"--between-levels", srv.URL+"/a", "--between-levels", other.URL+"/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := postBetween(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if asked := f.taken(); !slices.Equal(asked, []string{"POST /a", "POST /b Bearer sk-0123456789"}) {
		t.Errorf("asked %q", asked)
	}
}

// The server under test is given the key.
func TestBetweenLevelsAtTheServer(t *testing.T) {
	f := &flusher{}
	srv := httptest.NewServer(f)
	defer srv.Close()
	for user, want := range map[string]string{
		"":       "POST /flush Bearer sk-0123456789",
		"me:pw@": "POST /flush Basic bWU6cHc=", // and not the key as well
		"token@": "POST /flush Basic dG9rZW46",
	} {
		s, err := parse(t, "sk-0123456789", "--service-kind", "openai", "-u", srv.URL, "--between-levels", strings.Replace(srv.URL, "//", "//"+user, 1)+"/flush")
		if err != nil {
			t.Fatal(err)
		}
		if err := postBetween(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if asked := f.taken(); len(asked) != 1 || asked[0] != want {
			t.Errorf("asked %q, want %q", asked, want)
		}
	}
}
