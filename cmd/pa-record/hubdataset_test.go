package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// orcaServer is a datasets server with five rows of OpenOrca.
func orcaServer(t *testing.T, cut string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/rows" || q.Get("dataset") != "Open-Orca/OpenOrca" || q.Get("config") != "default" || q.Get("split") != "train" {
			http.Error(w, `{"error":"not found"}`, http.StatusNotFound)
			return
		}
		var offset, length int
		if _, err := fmt.Sscan(q.Get("offset")+" "+q.Get("length"), &offset, &length); err != nil {
			t.Error(err)
		}
		var rows []string
		for i := offset; i < min(5, offset+length); i++ {
			rows = append(rows, fmt.Sprintf(`{"row_idx":%d,"row":{"id":"flan.%d","system_prompt":"Be brief.","question":"Question %d?","response":"Yes."},"truncated_cells":[%s]}`, i, i, i, cut))
		}
		fmt.Fprintf(w, `{"features":[],"rows":[%s],"num_rows_total":5}`, strings.Join(rows, ","))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestNamedDataset(t *testing.T) {
	server := orcaServer(t, "")
	home := t.TempDir()
	env := map[string]string{"HF_ENDPOINT": server.URL, "HF_HOME": home}
	args := []string{"inputs", "--service-kind", "openai", "-m", "x", "--dataset", "openorca"}

	code, stdout, stderr := inProcessWith(t.Context(), t, env, append(args, "--num-dataset-entries", "2")...)
	want := `{"data": [
{"payload": [{"model":"x","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Question 0?"}],"max_tokens":3}]},
{"payload": [{"model":"x","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Question 1?"}],"max_tokens":3}]}
]}
`
	if code != 0 || stdout != want || !strings.Contains(stderr, "note: --dataset openorca: asking "+addressOf(server.URL)+" for the first 2 rows of Open-Orca/OpenOrca") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// There are fewer than the 100 that are asked for by default.
	code, stdout, stderr = inProcessWith(t.Context(), t, env, args...)
	if n := strings.Count(stdout, "payload"); code != 0 || n != 5 {
		t.Errorf("exit code %d, %d requests\n%s", code, n, stderr)
	}

	// A run says in its export what was sent.
	path := filepath.Join(t.TempDir(), "e.json")
	code, _, stderr = inProcessWith(t.Context(), t, env, "-u", "sim://?ttft=1ms&itl=1ms&output_tokens=2", "--dataset", "openorca",
		"--request-count", "3", "--quiet", "--profile-export-file", path)
	export, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if want := `"dataset":{"files":[{"name":"Open-Orca/OpenOrca","sha256":"`; code != 0 || !strings.Contains(string(export), want) {
		t.Errorf("exit code %d, and the export lacks %s\n%s", code, want, stderr)
	}

	// Files in the cache are not downloaded again.
	snapshot := filepath.Join(home, "hub", "datasets--Open-Orca--OpenOrca", "snapshots", "main")
	if err := os.MkdirAll(snapshot, 0o755); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../../pkg/recorder/workload/dataset/testdata/openorca.parquet")
	if err == nil {
		err = os.WriteFile(filepath.Join(snapshot, "1M-GPT4-Augmented.parquet"), table, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	code, stdout, stderr = inProcessWith(t.Context(), t, env, append(args, "--num-dataset-entries", "1")...)
	if n := strings.Count(stdout, "payload"); code != 0 || n != 1 {
		t.Errorf("from the cache: exit code %d, %d requests\n%s", code, n, stderr)
	}
}

func TestNamedDatasetErrors(t *testing.T) {
	cut := orcaServer(t, `"question"`)
	env := map[string]string{"HF_ENDPOINT": cut.URL, "HF_HOME": t.TempDir()}
	offline := map[string]string{"HF_HUB_OFFLINE": "1", "HF_HOME": t.TempDir()}
	tests := []struct {
		name string
		env  map[string]string
		args string
		code int
		want string
	}{
		{"cut", env, "--dataset openorca", 1, `--dataset openorca: Open-Orca/OpenOrca: byte 10: the datasets server has cut "question"; use the dataset's files`},
		{"not there", env, "--dataset cnn_dailymail", 1, "--dataset cnn_dailymail: dataset abisee/cnn_dailymail, rows from 0: " + addressOf(cut.URL) + ": 404"},
		{"offline", offline, "--dataset sharegpt", 1, "--dataset sharegpt: dataset anon8231489123/ShareGPT_Vicuna_unfiltered: not in the cache " + offline["HF_HOME"] + "/hub: HF_HUB_OFFLINE forbids requests to the hub; unset it, or name a file of the dataset"},
		{"made up", env, "--dataset openorca --num-sessions 3", 2, "--dataset and synthetic prompts (--synthetic-input-tokens, --num-sessions) exclude each other; drop one"},
		{"only files", env, "--dataset mooncake", 2, "--dataset applies to files; give them with --input-data"},
		{"window", env, "--dataset openorca --trace-window 1s:", 2, "--trace-window applies to a trace; give its file with --input-data"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, _, stderr := inProcessWith(t.Context(), t, test.env, append([]string{"inputs", "--service-kind", "openai"}, strings.Fields(test.args)...)...)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, want %d; stderr\n%swant %s", code, test.code, stderr, test.want)
			}
		})
	}
}
