package sim

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// v1/images/generations, whole and streamed.
func TestImages(t *testing.T) {
	s := start(t, fast())
	for _, row := range []struct {
		body, want string
		tokens     int // of the ledger
	}{
		{`{"prompt":"a cat","max_tokens":4,"size":"16x16"}`, `{"created":T,"data":[{"b64_json":"B"}],"usage":{"total_tokens":6,"input_tokens":2,"output_tokens":4,"input_tokens_details":{"text_tokens":2,"image_tokens":0}}}`, 4},
		{`{"prompt":"a cat","max_tokens":2,"n":2}`, `"data":[{"b64_json":"B"},{"b64_json":"B"}],"usage":{"total_tokens":6,"input_tokens":2,"output_tokens":4,`, 4},
		{`{"prompt":"a","max_tokens":2,"response_format":"url"}`, `"data":[{"url":"http://sim/`, 2},
		{`{"prompt":"a","max_tokens":2,"sim_fault":"error_event"}`, `"error"`, 2},
		{`{}`, `prompt: expected a text`, 0},
		{`{"prompt":"a","n":11}`, `n is 11; expected`, 0},
		{`{"prompt":"a","partial_images":4}`, `partial_images is 4; expected`, 0},
		{`{"prompt":"a","n":2,"stream":true}`, `n: a stream has one image`, 0},
		{`{"prompt":"a","response_format":"url","stream":true}`, `response_format: a stream holds images as b64_json`, 0},
		{`{"prompt":"a","response_format":"jpg"}`, `response_format: expected url or b64_json`, 0},
		{`{"prompt":"a","model":"no"}`, `there is no model`, 0},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/images/generations", row.body)
		if err != nil {
			t.Fatal(err)
		}
		got := regexp.MustCompile(`"created":\d+`).ReplaceAllString(string(body), `"created":T`)
		got = regexp.MustCompile(`"iVBORw[^"]+"`).ReplaceAllString(got, `"B"`)
		if !strings.Contains(got, row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, got, row.want)
		}
		if e := last(t, s); e.Protocol != OpenAIImages || e.OutputTokens != row.tokens {
			t.Errorf("%s: ledger: %+v", row.body, e)
		}
	}
	const partial, completed = "image_generation.partial_image ", "image_generation.completed"
	for _, row := range []struct {
		fields, events string
		tokens         int
	}{
		{`"max_tokens":8,"partial_images":3`, partial + partial + partial + completed, 8},
		{`"max_tokens":8`, completed, 8},
		{`"max_tokens":1,"partial_images":2`, completed, 1},
		{`"max_tokens":8,"partial_images":1,"sim_fault":"no_done"`, strings.TrimSpace(partial), 4},
		{`"max_tokens":8,"partial_images":1,"sim_fault":"error_event","sim_fault_after":4`, partial + "error", 4},
		{`"max_tokens":8,"partial_images":1,"sim_fault":"truncate","sim_fault_after":4`, partial + completed, 4},
	} {
		_, body, err := post(t, s.OpenAIURL()+"/v1/images/generations", `{"prompt":"a cat","stream":true,`+row.fields+`}`)
		if err != nil && !strings.Contains(row.fields, "truncate") {
			t.Fatal(err)
		}
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^event: (.*)$`).FindAllSubmatch(body, -1) {
			names = append(names, string(m[1]))
		}
		if got := strings.Join(names, " "); got != row.events {
			t.Errorf("%s: events\n%s, want\n%s", row.fields, got, row.events)
		}
		if e := last(t, s); len(e.TokenTimesNS()) != row.tokens {
			t.Errorf("%s: %d tokens in the ledger, want %d", row.fields, len(e.TokenTimesNS()), row.tokens)
		}
	}
}

func FuzzImagesRequest(f *testing.F) {
	for _, body := range []string{`{"prompt":"a b","n":2,"max_tokens":3}`, `{"prompt":"a","stream":true,"partial_images":"3","sim_fault":"reset"}`, `{"prompt":5}`, `{"prompt":"a","n":1e9}`} {
		f.Add([]byte(body))
	}
	s := &Server{config: Config{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q imagesRequest
		if json.Unmarshal(body, &q) != nil {
			return
		}
		a, partial, err := s.imagesPlanRequest(3, &q)
		if err != nil {
			return
		}
		if partial < 0 || partial > maxPartialImages || a.Choices > maxImages {
			t.Fatalf("%d partial images, %d images", partial, a.Choices)
		}
		checkPlan(t, &s.config, plan.New(1, a))
	})
}

// FuzzVectorRequest checks that the texts of a request for numbers are read without a panic, and that an answer is JSON.
func FuzzVectorRequest(f *testing.F) {
	for _, body := range []string{
		`{"input":["a","b"]}`, `{"messages":[{"content":[{"text":"a"}]}]}`, `{"text_1":"q","text_2":["a"]}`, `{"queries":["q","r"],"documents":["a",{"text":"b"}]}`,
		`{"query":{"text":"q"},"passages":[{"text":"a"}]}`, `{"query":"q","texts":["a"]}`, `{"input":[1,2]}`,
	} {
		f.Add([]byte(body))
	}
	s := &Server{config: Config{}.withDefaults()}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q vectorRequest
		if json.Unmarshal(body, &q) != nil {
			return
		}
		for _, path := range []string{"v1/embeddings", "pooling", "classify", "v1/score", "rerank", "v1/ranking"} {
			texts, render, err := q.parse(s, path)
			if err != nil {
				continue
			}
			if answer := render("m", len(texts)); !json.Valid(answer) {
				t.Errorf("%s %s: %s is no JSON", path, body, answer)
			}
		}
	})
}
