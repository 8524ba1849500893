package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/pa-tools/pa/internal/test/golden"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
)

// Given the input file of a perf_analyzer run and the answers of its server, each turn sends the
// payload that perf_analyzer sent, to the byte, and records the same session id and delay.
func TestConversationAsPerfAnalyzer(t *testing.T) {
	g, err := fs.Sub(golden.FS(t, "perf_analyzer"), "2.59.0/openai_sessions")
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := fs.ReadFile(g, "prompts.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(file, prompts, 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(t.Context(), []string{file}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var entries []workload.Entry
	for k := range set.Len() {
		e, err := set.At(k)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	text, err := fs.ReadFile(g, "profile_export.json")
	if err != nil {
		t.Fatal(err)
	}
	type request struct {
		timestamp uint64
		Inputs    struct {
			Delay   *int
			Session string `json:"session_id"`
			Payload string
		} `json:"request_inputs"`
		Outputs []struct{ Response string } `json:"response_outputs"`
	}
	var recorded struct {
		Experiments []struct{ Requests []request }
	}
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	requests := recorded.Experiments[0].Requests
	slices.SortFunc(requests, func(a, b request) int { return int(a.timestamp) - int(b.timestamp) })
	b, err := openai.New(openai.Config{URL: "localhost:1", Model: "tiny"})
	if err != nil {
		t.Fatal(err)
	}
	turns := map[string]int{}
	talks := map[string]backend.Conversation{}
	for _, r := range requests {
		id := r.Inputs.Session
		if talks[id] == nil {
			talks[id] = b.NewConversation()
		}
		i := slices.IndexFunc(entries, func(e workload.Entry) bool { return e.Session == id && e.Turn == turns[id] })
		turns[id]++
		p, err := talks[id].Turn(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		payload, _ := p.Inputs().Get("payload")
		session, _ := p.Inputs().Get("session_id")
		delay, hasDelay := p.Inputs().Get("delay")
		if string(payload.Data) != r.Inputs.Payload || string(session.Data) != id || hasDelay != (r.Inputs.Delay != nil) ||
			hasDelay && string(delay.Data) != strconv.Itoa(*r.Inputs.Delay) {
			t.Errorf("session %s, turn %d: %v\nwant %+v", id, turns[id], p.Inputs(), r.Inputs)
		}
		x := &backend.Exchange{Request: export.Request{Status: export.StatusOK}, Raw: [][]byte{[]byte(r.Outputs[0].Response)}}
		if _, err := talks[id].AddReply(x); err != nil {
			t.Fatal(err)
		}
	}
	if len(turns) != 2 || turns["s1"] != 3 || turns["s2"] != 2 {
		t.Errorf("turns %v, want 3 of s1 and 2 of s2", turns)
	}
}
