//go:build realservers

package realservers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changes are what an answer to the same request has of its own.
var changes = regexp.MustCompile(`"(id|request_id)":"[^"]*"|"(created|[a-z_]*(_ms|_per_second))":[0-9.e-]+`)

// TestIDs sends prompts of token ids to llama.cpp.
func TestIDs(t *testing.T) { checkPromptIDs(t, "llamacpp", startOpenAI(t, "llamacpp", oneSlot...)) }

// checkPromptIDs sends prompts of token ids. It compares each event that pa-record records with the events that a plain client of
// net/http receives for the same request, and the columns of pa-analyze with the ids of the request and of the events.
func checkPromptIDs(t *testing.T, kind string, s *server) {
	for _, c := range []struct {
		kind, endpoint, body string
		ids                  bool // events hold ids
	}{
		{"llamacpp", "v1/completions", `"prompt": [5, 6, 7, 8], "max_tokens": 20, "temperature": 0, "seed": 7, "stream_options": {"include_usage": true}`, false},
		{"vllm", "v1/completions", `"prompt": [5, 6, 7, 8], "max_tokens": 20, "temperature": 0, "ignore_eos": true, "return_token_ids": true, "stream_options": {"include_usage": true}`, true},
		{"vllm", "inference/v1/generate", `"token_ids": [5, 6, 7, 8], "sampling_params": {"max_tokens": 20, "temperature": 0, "ignore_eos": true}`, true},
	} {
		if c.kind != kind {
			continue
		}
		t.Run(c.endpoint, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				body := fmt.Sprintf(`{"model": "tiny", "stream": %v, %s}`, stream, c.body)
				if !stream {
					body = strings.Replace(body, `, "stream_options": {"include_usage": true}`, "", 1)
				}
				diff := "none"
				for attempt := 1; diff != "" && attempt <= 5; attempt++ { // a server that is behind sends several tokens in one event
					path, f := mustRecord(t, `{"data": [{"payload": [`+body+`]}]}`, "-m", "tiny", "--service-kind", "openai", "--endpoint", c.endpoint, "-u", s.HTTP,
						fmt.Sprintf("--streaming=%v", stream), "--request-count", "4", "--concurrency-range", "1", "--input-data=prompts.json", "--profile-export-file=profile_export.json")
					want := plainEvents(t, s, c.endpoint, body)
					diff = ""
					for i, r := range f.requests(t, 4) {
						var got []string
						for _, out := range r.ResponseOutputs {
							got = append(got, changes.ReplaceAllString(out.text("response"), `"$1$2":0`))
						}
						if d := cmp.Diff(want, got); d != "" {
							diff = fmt.Sprintf("stream %v, request %d: events (-plain client +pa-record):\n%s", stream, i, d)
						}
					}
					if diff == "" {
						checkIDs(t, path, want, c.ids && stream)
					}
				}
				if diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// plainEvents returns the events that net/http receives, without what differs from answer to answer.
func plainEvents(t *testing.T, s *server, endpoint, body string) []string {
	t.Helper()
	resp, err := http.Post("http://"+s.HTTP+"/"+endpoint, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the plain client got %d: %s, %v", resp.StatusCode, b, err)
	}
	return splitEvents(changes.ReplaceAllString(string(b), `"$1$2":0`))
}

// checkIDs checks the columns of the requests: input tokens are the ids of the prompt, and output tokens the ids of the events.
func checkIDs(t *testing.T, path string, events []string, ids bool) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(analyze(t, "requests", "--format", "csv", path))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	sent, with := 0, 0
	for _, e := range events {
		var x struct {
			Choices []struct {
				IDs []int `json:"token_ids"`
			}
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(e), "data: ")), &x) == nil && len(x.Choices) == 1 && len(x.Choices[0].IDs) > 0 {
			sent, with = sent+len(x.Choices[0].IDs), with+1
		}
	}
	for _, row := range rows[1:] {
		if got := row[column["input_tokens"]]; got != "4" {
			t.Errorf("%s input tokens, want 4", got)
		}
		if out, n := row[column["output_tokens"]], row[column["token_events"]]; ids && (out != fmt.Sprint(sent) || n != fmt.Sprint(with)) {
			t.Errorf("%s tokens in %s events, want %d in %d", out, n, sent, with)
		}
	}
}
