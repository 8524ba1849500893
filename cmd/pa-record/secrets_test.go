package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/internal/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
	"github.com/pa-tools/pa/pkg/recorder/journal"
)

// Keys in queries, as given and as a server decodes one.
const (
	endpointKey = "ENDPOINT-KEY-123"
	urlKey      = "URL-KEY%2F456"
	urlKeyPlain = "URL-KEY/456"
)

// checkNoKey fails the test when text holds a key.
func checkNoKey(t *testing.T, what, text string) {
	t.Helper()
	for _, key := range []string{endpointKey, urlKey, urlKeyPlain, `URL-KEY\/456`} {
		if i := strings.Index(text, key); i >= 0 {
			t.Errorf("%s: %s is in …%s…", what, key, text[max(0, i-60):i+len(key)])
		}
	}
}

// asJSON returns everything that an export or a journal holds.
func asJSON(t *testing.T, path string) string {
	t.Helper()
	r := exporttest.Open(t, path)
	var b bytes.Buffer
	w, err := formats.JSON(&b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := export.Copy(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Keys in the queries of the endpoint and of the URL are sent, and reach no file
// and no stream, though the server repeats them in errors and in answers.
func TestQueryKeys(t *testing.T) {
	for _, tt := range []struct {
		name     string
		endpoint string
		status   int
		code     int    // exit code
		want     string // on standard error
	}{
		{"refused", settings.ChatEndpoint, http.StatusNotFound, 1, "are --endpoint (v1/chat/completions?[redacted]) and the model right?"},
		{"answered", settings.CompletionsEndpoint, http.StatusOK, 1, "x.json"}, // its place is taken
	} {
		for _, transport := range []string{"auto", "nethttp"} {
			t.Run(tt.name+" "+transport, func(t *testing.T) {
				dir := t.TempDir()
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						// A folder in the place of the export: the journal stays.
						if err := os.MkdirAll(filepath.Join(dir, "x.json"), 0o700); err != nil {
							t.Error(err)
						}
					}
					if r.Method == http.MethodPost && r.URL.RawQuery != "token="+urlKey+"&key="+endpointKey {
						t.Errorf("the query that was sent is %q", r.URL.RawQuery)
					}
					echo, _ := json.Marshal(r.RequestURI + " " + r.URL.Query().Get("token"))
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("X-Request-Id", "of "+r.URL.Query().Get("key"))
					w.WriteHeader(tt.status)
					if tt.status == http.StatusOK {
						fmt.Fprintf(w, `{"object":"text_completion","choices":[{"index":0,"text":%s}]}`, echo)
						return
					}
					fmt.Fprintf(w, `{"error":{"message":%s}}`, echo)
				}))
				defer srv.Close()
				args := []string{"--service-kind", "openai", "-m", "m", "-u", srv.URL + "?token=" + urlKey, "--endp", tt.endpoint + "?key=" + endpointKey, "--transport", transport, "--request-count", "4", "--proxy", "none"}
				for _, name := range []string{"x.json", "y.json", "y.parquet", "y.arrow"} {
					args = append(args, "--profile-export-file", filepath.Join(dir, name))
				}
				code, stdout, stderr := inProcess(t.Context(), t, args...)
				if code != tt.code || !strings.Contains(stderr, tt.want) {
					t.Errorf("exit code %d, %q; want %d, %q", code, stderr, tt.code, tt.want)
				}
				checkNoKey(t, "standard output", stdout)
				checkNoKey(t, "standard error", stderr)
				for _, name := range []string{"x" + journal.Suffix, "y.json", "y.parquet", "y.arrow"} {
					path := filepath.Join(dir, name)
					raw, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					checkNoKey(t, name+", the bytes", string(raw))
					all := asJSON(t, path)
					checkNoKey(t, name, all)
					if !strings.Contains(all, `"endpoint":"`+tt.endpoint+`?[redacted]"`) || strings.Count(all, "/"+tt.endpoint+"?token=") < 4 {
						t.Errorf("%s: want the endpoint, and four answers that repeat it: %s", name, all)
					}
				}
			})
		}
	}
}

// The same for what no server answers: a plan, a simulated server, mistakes.
func TestQueryKeysShown(t *testing.T) {
	endpoint := settings.ChatEndpoint + "?key=" + endpointKey
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in the output
	}{
		{"plan", []string{"--service-kind", "openai", "--endpoint", endpoint, "--dry-run"}, 0, `"endpoint": "v1/chat/completions?[redacted]"`},
		{"simulated", []string{"-u", "sim://?ttft=1ms&output_tokens=2", "--endpoint=" + endpoint, "--request-count", "2"}, 0, "wrote "},
		{"no built-in requests", []string{"--service-kind", "openai", "-u", "127.0.0.1:1", "--endpoint", "other?" + endpointKey}, 2, "--endpoint other?[redacted]"},
		{"white space", []string{"--service-kind", "openai", "--endpoint", endpoint + " x"}, 2, `endpoint "v1/chat/completions?" holds white space`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.json")
			code, stdout, stderr := inProcess(t.Context(), t, append(tt.args, "--profile-export-file", path)...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit code %d, %s%s; want %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
			checkNoKey(t, "the output", stdout+stderr)
			if raw, err := os.ReadFile(path); err == nil {
				checkNoKey(t, "the export", string(raw))
			} else if tt.name == "simulated" {
				t.Error(err)
			}
		})
	}
}

// Passwords and keys of a server's URL, a proxy and headers reach no file and no
// stream, though what is asked repeats them as they are, in JSON and in base64.
func TestKeysEchoed(t *testing.T) {
	const (
		urlPassword, proxyPassword = "url-pass-word", "proxy-pass-word"
		proxyName                  = "proxy-token-name"
		key                        = `sk-a/b"c-0123456789`
	)
	forms := []string{urlPassword, proxyPassword, proxyName, key, `sk-a/b\"c-0123456789`}
	for _, text := range forms[:4] {
		forms = append(forms, base64.RawStdEncoding.EncodeToString([]byte(text)))
	}
	for _, status := range []int{http.StatusOK, http.StatusForbidden} {
		for _, kind := range []string{settings.OpenAI, settings.Triton} {
			for i, user := range []string{"bob:" + proxyPassword, proxyName} {
				t.Run(fmt.Sprintf("%s, %d, proxy user %d", kind, status, i), func(t *testing.T) {
					echoed := 0
					srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // server and proxy
						if strings.HasSuffix(r.URL.Path, "/metadata") || r.Method != http.MethodPost {
							echoOK(w, r)
							return
						}
						echoed++
						said := key + " " + base64.StdEncoding.EncodeToString([]byte(key))
						for name, values := range r.Header {
							said += fmt.Sprintf(" %s: %q", name, values)
							_, encoded, _ := strings.Cut(values[0], " ")
							if pair, err := base64.StdEncoding.DecodeString(encoded); err == nil {
								_, password, _ := strings.Cut(string(pair), ":")
								said += " " + string(pair) + " " + base64.StdEncoding.EncodeToString([]byte(password))
							}
						}
						text, _ := json.Marshal(said)
						w.Header().Set("Content-Type", "application/json")
						w.Header().Set("X-Request-Id", base64.StdEncoding.EncodeToString([]byte(key)))
						w.WriteHeader(status)
						switch {
						case status != http.StatusOK:
							fmt.Fprintf(w, `{"error":%s}`, text)
						case kind == settings.OpenAI:
							fmt.Fprintf(w, `{"id":%s,"choices":[{"index":0,"text":%s,"finish_reason":"stop"}]}`, text, text)
						default:
							fmt.Fprintf(w, `{"model_name":"m","outputs":[{"name":"OUT","datatype":"BYTES","shape":[1],"data":[%s]}]}`, text)
						}
					}))
					defer srv.Close()
					address := strings.TrimPrefix(srv.URL, "http://")
					path := filepath.Join(t.TempDir(), "x.json")
					args := []string{"--service-kind", kind, "-m", "m", "-H", "X-Api-Key: " + key, "--proxy", "http://" + user + "@" + address, "--request-count", "2", "-v", "--profile-export-file", path}
					if kind == settings.OpenAI {
						args = append(args, "-u", "http://alice:"+urlPassword+"@llm.test")
					} else {
						args = append(args, "-u", "llm.test:8000")
					}
					_, stdout, stderr := inProcess(t.Context(), t, args...)
					raw, err := os.ReadFile(path)
					if err != nil {
						t.Fatalf("%v: %s", err, stderr)
					}
					if echoed == 0 || !strings.Contains(asJSON(t, path), "X-Api-Key") {
						t.Errorf("the keys were repeated in %d answers, and none shows: %s%s", echoed, stderr, raw)
					}
					for _, form := range forms {
						for what, text := range map[string]string{"standard output": stdout, "standard error": stderr, "the export": string(raw)} {
							if i := strings.Index(text, form); i >= 0 {
								t.Errorf("%s: %s is in …%s…", what, form, text[max(0, i-60):i+len(form)])
							}
						}
					}
				})
			}
		}
	}
}

// echoOK answers what is asked before the load.
func echoOK(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/v1/models"):
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
	case strings.HasSuffix(r.URL.Path, "/config"):
		fmt.Fprint(w, `{"name":"m","max_batch_size":0,"input":[{"name":"IN","data_type":"TYPE_STRING","dims":[1]}],"output":[{"name":"OUT","data_type":"TYPE_STRING","dims":[1]}]}`)
	case strings.HasSuffix(r.URL.Path, "/models/m"):
		fmt.Fprint(w, `{"name":"m","versions":["1"],"inputs":[{"name":"IN","datatype":"BYTES","shape":[1]}],"outputs":[{"name":"OUT","datatype":"BYTES","shape":[1]}]}`)
	}
}
