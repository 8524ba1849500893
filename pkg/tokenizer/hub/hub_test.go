package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// standIn simulates a hub with one model, with the headers and redirects of the real hub.
type standIn struct {
	*httptest.Server
	store *httptest.Server // where large files are, on another host

	mu       sync.Mutex
	requests []string
	tokens   []string // Authorization headers that the store got
	fail     int      // status of all answers, if not 0
	noConfig bool
}

func newStandIn(t *testing.T) *standIn {
	t.Helper()
	h := &standIn{}
	h.store = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.tokens = append(h.tokens, r.Header.Get("Authorization"))
		h.mu.Unlock()
		fmt.Fprint(w, `{"model": 1}`)
	}))
	t.Cleanup(h.store.Close)
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
	w.Header().Set("X-Repo-Commit", commit)
	switch {
	case h.fail != 0:
		w.WriteHeader(h.fail)
	case r.URL.Path == "/org/model/resolve/main/tokenizer.json":
		// A large file is on another host. The redirect holds its etag.
		w.Header().Set("X-Linked-Etag", `"aaaa"`)
		w.Header().Set("Location", strings.Replace(h.store.URL, "127.0.0.1", "localhost", 1)+"/blob?signature=secret")
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/org/model/resolve/main/tokenizer_config.json" && !h.noConfig:
		w.Header().Set("ETag", `W/"bbbb"`)
		fmt.Fprint(w, `{"config": 1}`)
	case r.URL.Path == "/org/model/resolve/main/config.json":
		w.Header().Set("ETag", `"cccc"`)
		fmt.Fprint(w, `{"model_type": 1}`)
	case r.URL.Path == "/moved/resolve/main/tokenizer.json":
		w.Header().Set("Location", "/org/model/resolve/main/tokenizer.json")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case r.URL.Path == "/circle/resolve/main/tokenizer.json":
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(http.StatusFound)
	case r.URL.Path == "/bad/resolve/main/tokenizer.json":
		w.Header().Set("X-Repo-Commit", "../../etc")
		w.Header().Set("ETag", `"x"`)
	case r.URL.Path == "/nameless/resolve/main/tokenizer.json":
	default:
		http.NotFound(w, r)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFetch gets a model from the stand-in and finds it in the cache from then
// on, in the layout of huggingface_hub.
func TestFetch(t *testing.T) {
	h := newStandIn(t)
	c := Config{Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: h.URL + "/", Token: "hf_secret"}
	dir, err := c.Find(t.Context(), "org/model")
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(c.Cache, "models--org--model")
	if want := filepath.Join(model, "snapshots", commit); dir != want {
		t.Errorf("Find = %q, want %q", dir, want)
	}
	for name, want := range map[string]string{
		"refs/main": commit, "blobs/aaaa": `{"model": 1}`, "blobs/bbbb": `{"config": 1}`,
		"snapshots/" + commit + "/tokenizer.json": `{"model": 1}`, "snapshots/" + commit + "/tokenizer_config.json": `{"config": 1}`,
		"blobs/cccc": `{"model_type": 1}`, "snapshots/" + commit + "/config.json": `{"model_type": 1}`,
	} {
		if got := read(t, filepath.Join(model, name)); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if link, err := os.Readlink(filepath.Join(dir, "tokenizer.json")); err != nil || link != filepath.Join("..", "..", "blobs", "aaaa") {
		t.Errorf("tokenizer.json is a link to %q: %v", link, err)
	}
	want := []string{"GET /org/model/resolve/main/tokenizer.json Bearer hf_secret", "GET /org/model/resolve/main/tokenizer_config.json Bearer hf_secret", "GET /org/model/resolve/main/config.json Bearer hf_secret"}
	if fmt.Sprint(h.requests) != fmt.Sprint(want) {
		t.Errorf("requests %q, want %q", h.requests, want)
	}
	if fmt.Sprint(h.tokens) != "[]" {
		t.Errorf("the store on another host got the tokens %q", h.tokens)
	}

	// From the cache, without the hub.
	h.fail = http.StatusInternalServerError
	c.Offline = true
	again, err := c.Find(t.Context(), "org/model")
	if err != nil || again != dir {
		t.Errorf("Find = %q, %v; want %q", again, err, dir)
	}
	// A link to a blob that is gone does not count.
	if err := os.Remove(filepath.Join(model, "blobs", "aaaa")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), "org/model"); !errors.Is(err, ErrOffline) {
		t.Errorf("a broken link: %v", err)
	}
	h.fail, c.Offline = 0, false
	if again, err := c.Find(t.Context(), "org/model"); err != nil || again != dir {
		t.Errorf("fetched again: %q, %v", again, err)
	}
}

// TestFetchConcurrently fetches one model from several goroutines at the same time.
func TestFetchConcurrently(t *testing.T) {
	h := newStandIn(t)
	c := Config{Cache: t.TempDir(), Endpoint: h.URL}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			dir, err := c.Find(t.Context(), "org/model")
			if err != nil {
				t.Error(err)
				return
			}
			if data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json")); err != nil || string(data) != `{"model": 1}` {
				t.Errorf("tokenizer.json has %q: %v", data, err)
			}
		})
	}
	wg.Wait()
}

func TestFetchWithoutConfig(t *testing.T) {
	h := newStandIn(t)
	h.noConfig = true
	c := Config{Cache: t.TempDir(), Endpoint: h.URL}
	dir, err := c.Find(t.Context(), "moved")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "tokenizer.json"))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestFind checks the messages for tokenizers that cannot be found or downloaded. No
// message holds the token or a signed URL.
func TestFind(t *testing.T) {
	h := newStandIn(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	host := strings.TrimPrefix(h.URL, "http://")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name, find, want string
		change           func(c *Config)
	}{
		{"empty", "", "tokenizer: the name is empty", nil},
		{"a file", "model/tokenizer.json", "tokenizer model/tokenizer.json: no such file or directory", nil},
		{"a path", "./model", "tokenizer ./model: no such file or directory", nil},
		{"not a name", "a/b/c", `tokenizer "a/b/c": no such file or directory, and no name of a model on the hub`, nil},
		{"not a name either", "org/../model", `tokenizer "org/../model": no such file or directory, and no name of a model on the hub`, nil},
		{"revision", "org/model", `tokenizer org/model: "../x" is not a revision name`, func(c *Config) { c.Revision = "../x" }},
		{"offline", "org/model", "tokenizer org/model: not in the cache CACHE: HF_HUB_OFFLINE forbids requests to the hub; unset it, or name a tokenizer.json", func(c *Config) { c.Offline = true }},
		{"not there", "org/other", "tokenizer org/other: HOST has no such model, or it has no tokenizer.json: tokenizer.json from HOST: not found", nil},
		{"gated", "org/model", "tokenizer org/model: tokenizer.json from HOST: 403 Forbidden; the model is private, gated, or does not exist: check the name, or set HF_TOKEN to a token that may read it", func(*Config) { h.fail = http.StatusForbidden }},
		{"broken", "org/model", "tokenizer org/model: tokenizer.json from HOST: 502 Bad Gateway", func(*Config) { h.fail = http.StatusBadGateway }},
		{"circle", "circle", "tokenizer circle: tokenizer.json: more than 5 redirects", nil},
		{"hostile commit", "bad", "tokenizer bad: tokenizer.json from HOST: the answer names no commit (X-Repo-Commit) or no content (ETag)", nil},
		{"no etag", "nameless", "tokenizer nameless: tokenizer.json from HOST: the answer names no commit (X-Repo-Commit) or no content (ETag)", nil},
		{"endpoint", "org/model", "tokenizer org/model: HF_ENDPOINT is not an http or https URL", func(c *Config) { c.Endpoint = "user:hf_secret" }},
		{"no server", "org/model", "tokenizer org/model: tokenizer.json from " + strings.TrimPrefix(gone.URL, "http://") + ": dial tcp", func(c *Config) { c.Endpoint = gone.URL }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h.fail = 0
			c := Config{Cache: t.TempDir(), Endpoint: h.URL, Token: "hf_secret"}
			if test.change != nil {
				test.change(&c)
			}
			_, err := c.Find(t.Context(), test.find)
			if err == nil {
				t.Fatal("no error")
			}
			want := strings.NewReplacer("CACHE", c.Cache, "HOST", host).Replace(test.want)
			if !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %v", err, want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("a credential in %q", err)
			}
			if _, err := os.Stat(filepath.Join(c.Cache, "models--org--model", "refs", "main")); err == nil {
				t.Error("a ref to files that were not fetched")
			}
		})
	}
	h.fail = 0
	if _, err := (Config{Cache: t.TempDir(), Endpoint: h.URL}).Find(cancelled, "org/model"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	dir := t.TempDir()
	if got, err := (Config{Offline: true}).Find(t.Context(), dir); err != nil || got != dir {
		t.Errorf("Find(%q) = %q, %v", dir, got, err)
	}
}

// TestFromEnv checks the environment variables of huggingface_hub and their precedence.
func TestFromEnv(t *testing.T) {
	home := t.TempDir()
	hfHome := filepath.Join(home, "hf")
	if err := os.Mkdir(hfHome, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hfHome, "token"), []byte("hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		env  map[string]string
		want Config
	}{
		{"nothing", nil, Config{Cache: filepath.Join(home, ".cache/huggingface/hub")}},
		{"XDG", map[string]string{"XDG_CACHE_HOME": "/x"}, Config{Cache: filepath.FromSlash("/x/huggingface/hub")}},
		{"HF_HOME", map[string]string{"HF_HOME": hfHome, "XDG_CACHE_HOME": "/x"}, Config{Cache: filepath.Join(hfHome, "hub"), Token: "hf_file"}},
		{"cache", map[string]string{"HF_HOME": hfHome, "HF_HUB_CACHE": "/c", "HF_TOKEN": "hf_env"}, Config{Cache: "/c", Token: "hf_env"}},
		{"token path", map[string]string{"HF_TOKEN_PATH": filepath.Join(hfHome, "token"), "HF_ENDPOINT": "http://hub"}, Config{Cache: filepath.Join(home, ".cache/huggingface/hub"), Token: "hf_file", Endpoint: "http://hub"}},
		{"offline", map[string]string{"HF_HUB_OFFLINE": "1"}, Config{Cache: filepath.Join(home, ".cache/huggingface/hub"), Offline: true}},
		{"offline too", map[string]string{"TRANSFORMERS_OFFLINE": "yes"}, Config{Cache: filepath.Join(home, ".cache/huggingface/hub"), Offline: true}},
		{"online", map[string]string{"HF_HUB_OFFLINE": "0"}, Config{Cache: filepath.Join(home, ".cache/huggingface/hub")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := FromEnv(func(name string) string { return test.env[name] }, home)
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// Cached finds a model that Find stored in the cache. It accepts no path and no name that
// leads out of the cache.
func TestCached(t *testing.T) {
	dir := t.TempDir()
	c := Config{Cache: filepath.Join(dir, "hub"), Endpoint: "http://127.0.0.1:9"}
	snapshot := filepath.Join(c.Cache, "models--org--model", "snapshots", "abc")
	outside := filepath.Join(dir, "outside")
	for path, content := range map[string]string{
		filepath.Join(snapshot, "tokenizer.json"):                            "{}",
		filepath.Join(c.Cache, "models--org--model", "refs", "main"):         "abc",
		filepath.Join(outside, "tokenizer.json"):                             "{}",
		filepath.Join(c.Cache, "models--evil", "refs", "main"):               "../../../../outside",
		filepath.Join(c.Cache, "models--a", "snapshots", "main", "other.md"): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := c.Cached("org/model"); err != nil || got != snapshot {
		t.Errorf("%q, %v, want %q", got, err, snapshot)
	}
	t.Chdir(dir)
	for _, name := range []string{"", "org/other", "evil", "a", "outside", outside, filepath.Join(outside, "tokenizer.json"), "./outside", "../outside", "org/../../outside", "/dev/zero", "org--model", "hub"} {
		if got, err := c.Cached(name); !errors.Is(err, ErrNotCached) {
			t.Errorf("%q: %q, %v, want ErrNotCached", name, got, err)
		}
	}
}
