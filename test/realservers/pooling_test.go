//go:build realservers

package realservers

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPooling records vLLM's endpoints that answer with numbers, and compares the numbers and the usage with what a plain
// client gets for the same body.
func TestPooling(t *testing.T) {
	if os.Getenv("REALSERVERS") != "all" {
		t.Skip("vLLM runs with REALSERVERS=all")
	}
	const text, asked = `{"text": "Once upon a time"}`, `{"model":"tiny","input":"Once upon a time"}`
	type ask struct{ endpoint, row, body string }
	for convert, asks := range map[string][]ask{
		"embed": {
			{"v1/embeddings", text, asked},
			{"pooling", text, asked},
			{"pooling", `{"messages": [{"role": "user", "content": "Once upon a time"}]}`, `{"model":"tiny","messages":[{"role":"user","content":"Once upon a time"}]}`},
			{"score", `{"query": "Once", "passages": ["upon a", "time"]}`, `{"model":"tiny","text_1":"Once","text_2":["upon a","time"]}`},
			{"v1/rerank", `{"query": "Once", "passages": ["upon a", "time"]}`, `{"model":"tiny","query":"Once","documents":["upon a","time"]}`},
		},
		"classify": {{"classify", text, asked}},
	} {
		t.Run(convert, func(t *testing.T) {
			s := startOpenAI(t, "vllm", "--runner", "pooling", "--convert", convert)
			for _, a := range asks {
				t.Run(a.endpoint, func(t *testing.T) { compareNumbers(t, s, a.endpoint, a.row, a.body) })
			}
		})
	}
}

// compareNumbers records eight requests of a row, one after another, and compares each answer with what a plain client gets
// for body.
func compareNumbers(t *testing.T, s *server, endpoint, row, body string) {
	t.Helper()
	want := numbersOf(t, plainPost(t, "http://"+s.HTTP+"/"+endpoint, body))
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(rows, []byte(row+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, f := mustRecord(t, "", "-m", "tiny", "--service-kind", "openai", "--endpoint", endpoint, "-u", s.HTTP,
		"--request-count", "8", "--input-data="+rows, "--profile-export-file=profile_export.json")
	for i, r := range f.requests(t, 8) {
		if len(r.ResponseOutputs) != 1 {
			t.Fatalf("request %d: %d responses, want 1", i, len(r.ResponseOutputs))
		}
		if got := numbersOf(t, []byte(r.ResponseOutputs[0].text("response"))); got != want {
			t.Errorf("request %d:\n%s, a plain client got\n%s", i, got, want)
		}
	}
}

// plainPost sends a body as a plain client does, and returns the answer.
func plainPost(t *testing.T, url, body string) []byte {
	t.Helper()
	r, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	answer, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", url, r.StatusCode, err, answer)
	}
	return answer
}

// numbersOf returns an answer without what differs from request to request.
func numbersOf(t *testing.T, answer []byte) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	delete(members, "id")
	delete(members, "created")
	rest, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, rest); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
