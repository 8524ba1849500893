package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

func TestGuideCommand(t *testing.T) {
	// The Benchmarking LLM guide's command, with its flags as they are.
	s, err := parse(t, "", strings.Fields("-m vllm -i grpc --async --streaming --input-data=prompts.json --profile-export-file=profile_export.json --measurement-mode=count_windows --measurement-request-count=10 --stability-percentage=999")...)
	if err != nil {
		t.Fatal(err)
	}
	if s.ServiceKind != kindTriton || s.Model != "vllm" || s.Protocol != protocolGRPC || !s.Streaming || s.rawURLs[0] != "localhost:8001" ||
		!slices.Equal(s.InputData, []string{"prompts.json"}) || !slices.Equal(s.Exports, []string{"profile_export.json"}) || !slices.Equal(s.Concurrency, []int{1}) {
		t.Errorf("settings %+v", s)
	}
	want := window.Measure{Mode: window.ByCount, Interval: 5 * time.Second, WindowRequests: 10, Stability: 9.99, MaxTrials: 10, ThroughputSuffices: true, StatefulThroughputSuffices: true}
	if diff := cmp.Diff(want, s.Measure.Measure); diff != "" {
		t.Errorf("measure (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	for _, tt := range []struct {
		args                          string
		kind, protocol, url, endpoint string
	}{
		{"-m x", "triton", "http", "localhost:8000", ""},
		{"-m x -i gRPC", "triton", "grpc", "localhost:8001", ""},
		{"--service-kind openai", "openai", "http", "localhost:8000", "v1/chat/completions"},
		{"--service-kind openai --endpoint /v1/completions/ -u h:1", "openai", "http", "h:1", "v1/completions"},
		{"-u sim://", "openai", "http", "sim://", "v1/chat/completions"},
		{"-u sim:// -m vllm -i grpc --streaming", "triton", "grpc", "sim://", ""},
	} {
		s, err := parse(t, "", strings.Fields(tt.args)...)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if s.ServiceKind != tt.kind || s.Protocol != tt.protocol || s.rawURLs[0] != tt.url || s.Endpoint != tt.endpoint {
			t.Errorf("%s: %s %s %s %s, want %s %s %s %s", tt.args, s.ServiceKind, s.Protocol, s.rawURLs[0], s.Endpoint, tt.kind, tt.protocol, tt.url, tt.endpoint)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "no model; give its name with -m (an OpenAI server: add --service-kind openai)"},
		{"-m x report a.json", "report is a command of pa-analyze, not of pa-record; run pa-analyze report"},
		{"-m x extra", `unexpected argument "extra"`},
		{"-m x localhost:8000", `unexpected argument "localhost:8000"; give the server with -u localhost:8000`},
		{"-m x user:secret@host:80", "pa-record takes flags only"},
		{"-m x --concurrency-range 1 4 16", "several levels have commas between them: --concurrency-range 1,4,16"},
		{"-m x --report page.html", `unexpected argument "page.html"; --html FILE writes a page`},
		{"-m x -i udp", "-i udp: expected http or grpc"},
		{"-m x --service-kind tensorflow", "expected " + cmdline.OneOf(kindNames())},
		{"-m x --streaming", "--streaming needs -i grpc"},
		{"-m x -i grpc --streaming --sync", "drop --sync"},
		{"-m x --async --sync", "--async and --sync exclude each other"},
		{"-m x -b 0", "-b 0: the batch size"},
		{"--service-kind openai -b 2", "not batched"},
		{"--service-kind openai -i grpc", "drop -i grpc"},
		{"--service-kind openai --endpoint v1/threads", "--endpoint v1/threads: no API is known that has this path; a path must end with chat/completions, "},
		{"--service-kind openai --endpoint x/predict?key=s --input-data a.json", "--endpoint x/predict?[redacted]: no API is known that has this path"},
		{"--service-kind openai --endpoint /v1/chat/completion", "--endpoint v1/chat/completion: did you mean v1/chat/completions? no API is known"},
		{"--service-kind openai --endpoint v1/embeddings --session-concurrency 2", "--session-concurrency holds conversations with a chat endpoint, and --endpoint v1/embeddings is not one; use --endpoint v1/chat/completions"},
		{"--service-kind openai --session-concurrency 2 --history-reasoning some", `--history-reasoning: "some": expected keep, drop or auto`},
		{"--service-kind openai --history-reasoning keep", "--history-reasoning"},
		{"--service-kind openai --extra-body [1]", "--extra-body: not a JSON object"},
		{"--service-kind openai --input-data zero", "zero and random tensors are for Triton"},
		{"-m x --input-data zero --input-data a.json", "exclude files"},
		{"-m x -H nocolon", "-H: expected 'Name: value'"},
		{"-m x --request-parameter a:1:int", "--request-parameter needs -i grpc"},
		{"-m x -i grpc --request-parameter a:1", "expected name:value:type"},
		{"-m x -i grpc --request-parameter a:z:int", "is not an integer"},
		{"-m x --shape a", "--shape a: expected name:d1,d2"},
		{"-m x --shape a:0", `"0" is not a positive whole number`},
		{"-m x --concurrency-range zero", `--concurrency-range: concurrency "zero"`},
		{"-m x --request-count 0", "--request-count 0: must be at least 1"},
		{"-m x --request-count 3 --concurrency-range 1:4 -l 50", "--request-count 3: a search up to a concurrency of 4 needs at least 4 requests a level"},
		{"-m x --request-count 3 --duration 1s", "exclude each other"},
		{"-m x --duration -1s", "--duration -1s: must be positive"},
		{"-m x -p 0", "--measurement-interval 0"},
		{"-m x -s -1", "--stability-percentage -1"},
		{"-m x --percentile 100", "--percentile 100"},
		{"-m x --measurement-mode windows", "expected time_windows or count_windows"},
		{"-m x --warmup-request-count -1", "must not be negative"},
		{"-m x --nosuchflag", "unknown flag --nosuchflag"},
		{"-m x --api-key-file k", "--api-key-file belongs to"},
		{"--service-kind openai --api-key-file nowhere.txt", "nowhere"},
	} {
		_, err := parse(t, "", strings.Fields(tt.args)...)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.args, err, tt.want)
		}
	}
	if _, err := parse(t, "", "-m", "x", ""); err == nil || !strings.Contains(err.Error(), `unexpected argument ""`) {
		t.Errorf("an empty argument: error %v", err)
	}
}

// A secret is used, but is not in anything that is printed or stored.
func TestSecrets(t *testing.T) {
	const secret = "sk-0123456789"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  string
		args []string
	}{
		{"environment", secret, nil},
		{"file", "", []string{"--api-key-file", file}},
		{"file beats environment", "other-key-0000", []string{"--api-key-file", file}},
		{"header", "other-key-0000", []string{"-H", "Authorization: Bearer " + secret}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse(t, tt.env, append([]string{"--service-kind", "openai"}, tt.args...)...)
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Headers) != 1 || s.Headers[0].name != "Authorization" || s.Headers[0].value != "Bearer "+secret {
				t.Errorf("headers %v, want one Authorization with the key", s.Headers)
			}
			var plan strings.Builder
			if err := json.NewEncoder(&plan).Encode(s); err != nil || strings.Contains(plan.String(), secret) || !strings.Contains(plan.String(), "Authorization") {
				t.Errorf("the plan holds the key or lacks the header's name (%v):\n%s", err, plan.String())
			}
		})
	}
	s, err := parse(t, "", "--service-kind", "openai", "-u", "http://alice:"+secret+"@host/?token="+secret)
	if err != nil {
		t.Fatal(err)
	}
	var plan strings.Builder
	if err := json.NewEncoder(&plan).Encode(s); err != nil || strings.Contains(plan.String(), secret) || !strings.Contains(s.rawURLs[0], secret) {
		t.Errorf("the URL's secret is in the plan, or is lost (%v):\n%s", err, plan.String())
	}
	// The URL is on the command line, and the key in the environment is for every server.
	basic := []string{"--service-kind", "openai", "-m", "m", "-u", "http://alice:pw@host"}
	if s, err := parse(t, secret, basic...); err != nil || len(s.Headers) > 0 {
		t.Errorf("the key in the environment takes the place of the URL's password: %v (%v)", s.Headers, err)
	}
	if s, err := parse(t, secret, append(basic, "--endpoint", "v1/messages")...); err != nil {
		t.Error(s, err)
	}
	if _, err := parse(t, "", append(basic, "-H", "authorization: Bearer x")...); err == nil || !strings.Contains(err.Error(), "-u has a user name, and -H 'Authorization: …' excludes it; drop one") {
		t.Errorf("two ways to authorize: %v", err)
	}
	if _, err := parse(t, "", append(basic, "--endpoint", "v1/messages", "-H", "Authorization: Bearer x")...); err == nil || !strings.Contains(err.Error(), "excludes it; drop one") {
		t.Errorf("two ways to authorize, and the key in another header: %v", err)
	}
	if s, err := parse(t, secret, "--service-kind", "openai", "-m", "m", "-u", "http://host/of@me"); err != nil || len(s.Headers) != 1 {
		t.Errorf("an at sign in a path is no user name: headers %v (%v)", s.Headers, err)
	}
	if s, err := parse(t, secret, "-m", "x"); err != nil || len(s.Headers) != 0 {
		t.Errorf("Triton got headers %v (%v); the OpenAI key is not for it", s.Headers, err)
	}
}

// Each URL is on its own: its user information, else the key.
func TestKeyOfEachURL(t *testing.T) {
	const key, basic = "Bearer sk-0123456789", "Basic bWU6cHc="
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("sk-0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[int]map[string]bool{}
	var addrs []string
	for i := range 2 {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			got[i][r.Header.Get("Authorization")] = true
			mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/models") {
				fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
				return
			}
			fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}`)
		}))
		defer srv.Close()
		addrs = append(addrs, strings.TrimPrefix(srv.URL, "http://"))
	}
	for _, tt := range []struct {
		urls [2]string // %s: the address
		args []string
		want [2]string
	}{
		{[2]string{"http://me:pw@%s", "http://%s"}, nil, [2]string{basic, key}},
		{[2]string{"http://%s", "http://me:pw@%s"}, nil, [2]string{key, basic}},
		{[2]string{"http://me:pw@%s", "http://%s"}, []string{"--api-key-file", file}, [2]string{basic, key}},
		{[2]string{"%s", "me:pw@%s"}, []string{"--transport", "nethttp"}, [2]string{key, basic}},
		{[2]string{"http://me:pw@%s", "http://me:pw@%s"}, nil, [2]string{basic, basic}},
		{[2]string{"old=http://me:pw@%s", "new=http://%s"}, nil, [2]string{basic, key}},
		{[2]string{"old=%s", "new=http://me:pw@%s"}, []string{"--api-key-file", file}, [2]string{key, basic}},
	} {
		got[0], got[1] = map[string]bool{}, map[string]bool{}
		args := append([]string{"--service-kind", "openai", "--request-count", "2", "--quiet", "--artifact-dir", t.TempDir()}, tt.args...)
		for i, u := range tt.urls {
			args = append(args, "-u", fmt.Sprintf(u, addrs[i]))
		}
		variables := map[string]string{"OPENAI_API_KEY": "sk-0123456789"}
		if slices.Contains(tt.args, file) {
			variables["OPENAI_API_KEY"] = "another-key-000"
		}
		code, _, stderr := inProcessWith(t.Context(), t, variables, args...)
		for i := range got {
			if code != 0 || len(got[i]) != 1 || !got[i][tt.want[i]] {
				t.Errorf("%q: exit code %d, server %d got %v, want %q\n%s", args, code, i, got[i], tt.want[i], stderr)
			}
		}
	}
	if _, err := parse(t, "", "--service-kind", "openai", "-u", "me:pw@a", "-u", "me:pw@b", "--api-key-file", file); err == nil || !strings.Contains(err.Error(), "--api-key-file excludes it") {
		t.Errorf("a key that no server gets: %v", err)
	}
}

func TestParsePart(t *testing.T) {
	for _, tt := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"0", 0, true},
		{"1", 1, true},
		{"0.05", 0.05, true},
		{"5%", 0.05, true},
		{"100%", 1, true},
		{"0%", 0, true},
		{"1.01", 0, false},
		{"101%", 0, false},
		{"-1", 0, false},
		{"-0.1%", 0, false},
		{"NaN", 0, false},
		{"", 0, false},
		{"%", 0, false},
		{"5 %", 0, false},
	} {
		if got, err := parsePart(tt.text); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("parsePart(%q) = %v, %v; want %v, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
	}
}

// A level of requests that perf_analyzer sends asynchronously is stable when its throughput is.
func TestAsync(t *testing.T) {
	for args, want := range map[string]bool{
		"-m x":                       false,
		"-m x --sync":                false,
		"-m x -i grpc":               false,
		"-m x -a":                    true,
		"-m x -i grpc --streaming":   true,
		"--service-kind openai -m x": true,
	} {
		s, err := parse(t, "", strings.Fields(args)...)
		if err != nil || s.Sync != strings.HasSuffix(args, "--sync") || s.Measure.StatefulThroughputSuffices == s.Sync || s.Async != want || s.Measure.ThroughputSuffices != want {
			t.Errorf("%s: %v, asynchronous %v, throughput suffices %v; want %v", args, err, s.Async, s.Measure.ThroughputSuffices, want)
		}
	}
}
