package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/test/exporttest"
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
	t.Parallel()
	for _, tt := range []struct {
		name     string
		endpoint string
		status   int
		code     int    // exit code
		want     string // on standard error
	}{
		{"refused", chatEndpoint, http.StatusNotFound, 1, "are --endpoint (v1/chat/completions?[redacted]) and the model right?"},
		{"answered", "v1/completions", http.StatusOK, 1, "x.json"}, // its place is taken
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
	endpoint := chatEndpoint + "?key=" + endpointKey
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in the output
	}{
		{"plan", []string{"--service-kind", "openai", "--endpoint", endpoint, "--dry-run"}, 0, `"endpoint": "v1/chat/completions?[redacted]"`},
		{"simulated", []string{"-u", "sim://?ttft=1ms&output_tokens=2", "--endpoint=" + endpoint, "--request-count", "2"}, 0, "wrote "},
		{"no built-in requests", []string{"--service-kind", "openai", "-u", "127.0.0.1:1", "--endpoint", "other?" + endpointKey}, 2, "--endpoint other?[redacted]"},
		{"white space", []string{"--service-kind", "openai", "--endpoint", endpoint + " x"}, 2, `endpoint "v1/chat/completions?": expected a path without white space`},
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
	t.Parallel()
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
		for _, kind := range []string{kindOpenAI, kindTriton} {
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
						case kind == kindOpenAI:
							fmt.Fprintf(w, `{"id":%s,"choices":[{"index":0,"text":%s,"finish_reason":"stop"}]}`, text, text)
						default:
							fmt.Fprintf(w, `{"model_name":"m","outputs":[{"name":"OUT","datatype":"BYTES","shape":[1],"data":[%s]}]}`, text)
						}
					}))
					defer srv.Close()
					address := strings.TrimPrefix(srv.URL, "http://")
					path := filepath.Join(t.TempDir(), "x.json")
					args := []string{"--service-kind", kind, "-m", "m", "-H", "X-Api-Key: " + key, "--proxy", "http://" + user + "@" + address, "--request-count", "2", "-v", "--profile-export-file", path}
					if kind == kindOpenAI {
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

// Credentials in bodies are sent, and stand in the payloads of the export, which a note says
// before the load. They stand in no other part of the export, in no plan and on no stream,
// also if the server repeats them, unless they come from the input data.
func TestKeysInBodies(t *testing.T) {
	t.Parallel()
	const key = "BODY-KEY-123"
	prompts := []string{"--synthetic-input-tokens-mean", "4", "--num-dataset-entries", "1"}
	payload := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "data.json")
		if err := os.WriteFile(path, []byte(`{"data":[{"payload":[{"prompt":"x","nested":{"Auth-Token":"`+key+`"}}]}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(`extra-body: '{"api_key":"`+key+`"}'`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	genaiPerf := func(extra string) []string {
		return []string{"genai-perf", "profile", "--endpoint-type", "completions", "--synthetic-input-tokens-mean", "4", "--concurrency", "1", "--extra-inputs", extra, "--"}
	}
	for _, tt := range []struct {
		name  string
		args  func(t *testing.T) []string
		names string // of the members that are named
		late  bool   // the plan of --dry-run does not read them
	}{
		{"--extra-body", func(*testing.T) []string {
			return append(prompts, "--extra-body", `{"api_key":"`+key+`","max_tokens":7}`)
		}, "member api_key", false},
		{"--extra-body, deep, in a string, joined", func(*testing.T) []string {
			return append(prompts, `--extra-body={"a":[{"Client-Secret":"`+key+`"}],"b":"{\"password\":\"`+key+`\"}"}`)
		}, "members Client-Secret, password", false},
		{"--extra-body, an object", func(*testing.T) []string {
			return append(prompts, "--extra-b", `{"auth":{"kind":"x","value":"`+key+`"}}`)
		}, "member auth", false},
		{"--request-template", func(*testing.T) []string {
			return append(prompts, "--request-template", `{"model":"m","prompt":"{{prompt}}","accessToken":"`+key+`"}`)
		}, "member accessToken", false},
		{"--config", func(t *testing.T) []string { return append(prompts, "--config", config(t)) }, "member api_key", false},
		{"--input-data", func(t *testing.T) []string { return []string{"--input-data", payload(t)} }, "member Auth-Token", true},
		{"genai-perf, name:value", func(*testing.T) []string { return genaiPerf("api_key:" + key) }, "member api_key", false},
		{"genai-perf, JSON", func(*testing.T) []string { return genaiPerf(`{"a":{"token":"` + key + `"}}`) }, "member token", false},
	} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, status), func(t *testing.T) {
				t.Parallel()
				var asked atomic.Int32
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						echoOK(w, r)
						return
					}
					body, _ := io.ReadAll(r.Body)
					if !strings.Contains(string(body), key) || strings.Contains(string(body), "[redacted]") {
						t.Errorf("the body that was sent is %s", body)
					}
					asked.Add(1)
					repeated := key
					if tt.late {
						repeated = "at all"
					}
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("X-Request-Id", repeated)
					w.WriteHeader(status)
					if status == http.StatusOK {
						fmt.Fprintf(w, `{"object":"text_completion","choices":[{"index":0,"text":"so it is %s"}]}`, repeated)
						return
					}
					fmt.Fprintf(w, `{"error":{"message":"no key %s"}}`, repeated)
				}))
				defer srv.Close()
				path := filepath.Join(t.TempDir(), "x.json")
				args := tt.args(t)
				if args[0] == "genai-perf" {
					args = append(args[:len(args)-1], "-m", "m", "-u", srv.URL, "--request-count", "2", "--artifact-dir", t.TempDir(), "--", "--profile-export-file", path)
				} else {
					args = append(args, "--service-kind", "openai", "--endpoint", "v1/completions", "-m", "m", "-u", srv.URL, "--request-count", "2", "--profile-export-file", path)
				}
				hidden := func(what, text string) {
					t.Helper()
					if i := strings.Index(text, key); i >= 0 {
						t.Errorf("%s: the key is in …%s…", what, text[max(0, i-100):i+len(key)])
					}
				}
				note := "note: the export's payloads hold the " + tt.names + " as it was sent; "
				_, stdout, stderr := inProcess(t.Context(), t, append(slices.Clone(args), "--dry-run")...)
				hidden("standard output of --dry-run", stdout)
				hidden("standard error of --dry-run", stderr)
				if strings.Contains(stderr, note) == tt.late || asked.Load() != 0 {
					t.Errorf("--dry-run: %s, want %q", stderr, note)
				}
				_, stdout, stderr = inProcess(t.Context(), t, append(args, "-v")...)
				hidden("standard output", stdout)
				hidden("standard error", stderr)
				if !strings.Contains(stderr, note) {
					t.Errorf("%s, want %q", stderr, note)
				}
				run, requests := exporttest.Read(t, path)
				meta, err := json.Marshal(run)
				if err != nil {
					t.Fatal(err)
				}
				hidden("the export's header", string(meta))
				if tt.name != "--input-data" && tt.name != "--config" && strings.Count(string(meta), "[redacted]") < 2 { // arguments, settings
					t.Errorf("the header does not show what was left out: %s", meta)
				}
				if len(requests) == 0 {
					t.Fatal("no requests")
				}
				for _, r := range requests {
					inputs := ""
					for _, f := range r.Inputs {
						inputs += string(f.Value.Bytes())
					}
					if !strings.Contains(inputs, key) {
						t.Errorf("the payload is %s", inputs)
					}
					r.Inputs = nil
					hidden("a message", r.Message+r.ServerID)
					for _, response := range r.Responses {
						for _, f := range response.Outputs {
							hidden("a response", string(f.Value.Bytes()))
						}
					}
				}
			})
		}
	}
}

// Mistakes with credentials in bodies do not print them.
func TestKeysInMistakes(t *testing.T) {
	t.Parallel()
	const key = "BODY-KEY-123"
	for _, args := range [][]string{
		{"--service-kind", "openai", "-m", "m", "--api-key-file", key},
		{"--service-kind", "openai", "--extra-body", `{"api_key":"` + key + `"`},
		{"--service-kind", "openai", "--extra-body", `{"api_key":` + key + `}`},
		{"--service-kind", "openai", "--extra-bdy", `{"api_key":"` + key + `"}`},
		{"--service-kind", "openai", `--extra-bdy={"api_key":"` + key + `"}`},
		{"--service-kind", "openai", `{"api_key":"` + key + `"}`},
		{"--service-kind", "openai", "--request-template", `{"api_key":"` + key + `","a":"{{nonsense}}"}`},
		{"--service-kind", "openai", "--request-template", `{"api_key":"` + key + `"`},
		{"-i", "grpc", "-m", "m", "--request-parameter", "api_key:" + key},
		{"-i", "grpc", "-m", "m", "--request-parameter", "api_key:" + key + ":int"},
		{"-i", "grpc", "-m", "m", "--request-parameter", "api_key:" + key + ":strin"},
		{"genai-perf", "profile", "-m", "m", "--endpoint-type", "chat", "--extra-inputs", "api_key:" + key + ":x"},
		{"genai-perf", "profile", "-m", "m", "--endpoint-type", "chat", "--extra-inputs", `{"api_key":"` + key + `",}`},
		{"genai-perf", "profile", "-m", "m", "--endpoint-type", "chat", "--extra-inpts", "api_key:" + key},
		{"genai-perf", "profile", "-m", "m", "--endpoint-type", "chat", `--extra-inpts={"api_key":"` + key + `"}`},
	} {
		code, stdout, stderr := inProcess(t.Context(), t, args...)
		if code != cmdline.ExitUsage || strings.Contains(stdout+stderr, key) {
			t.Errorf("%q: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
	code, stdout, stderr := inProcess(t.Context(), t, "-i", "grpc", "-m", "m", "--streaming", "--request-parameter", "api_key:"+key+":string", "--dry-run")
	if code != 0 || strings.Contains(stdout+stderr, key) || !strings.Contains(stdout, `"api_key:[redacted]:string"`) || !strings.Contains(stderr, "member api_key") {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	for _, args := range [][]string{
		{"--service-kind", "openai", "-m", "m", "--analysis-hint", "metadata=a=1 api_key=" + key},
		{"benchmark_serving", "--backend", "openai", "--model", "m", "--dataset-name", "random", "--tokenizer", "built-in", "--save-result", "--metadata", "a=1", "api_key=" + key, "--"},
	} {
		code, stdout, stderr := inProcess(t.Context(), t, append(args, "--dry-run")...)
		if code != 0 || strings.Contains(stdout+stderr, key) || !strings.Contains(stdout, `"a=1 api_key=[redacted]"`) || !strings.Contains(stderr, "note: --analysis-hint metadata=a=1 api_key=[redacted]: the export does not keep the credential") {
			t.Errorf("%q: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
}

// Settings with secrets print none, whatever the verb.
func TestSettingsPrinted(t *testing.T) {
	t.Parallel()
	const key = "PRINTED-KEY-123"
	target, err := url.Parse("http://me:" + key + "@host/flush?key=" + key)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []any{
		header{name: "Authorization", value: key},
		[]header{{name: "Authorization", value: key}},
		postURL{URL: target, shown: "http://host/flush"},
		[]postURL{{URL: target, shown: "http://host/flush"}},
		redactedJSON(`{"api_key":"` + key + `"}`),
		redactedURLs{target.String()},
	} {
		for _, verb := range []string{"%v", "%+v", "%s", "%q"} {
			if text := fmt.Sprintf(verb, x); strings.Contains(text, key) {
				t.Errorf("%T by %s: %s", x, verb, text)
			}
		}
	}
}
