package sim

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/audio"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// transcribe sends a form with these members and a clip of half a second.
func transcribe(t *testing.T, url, members string) (code int, body string) {
	t.Helper()
	wav := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x40\x1f\x00\x00"), make([]byte, 8000)...)
	form, _, err := openai.AudioForm([]byte(`{"file":"data:audio/wav;base64,` + base64.StdEncoding.EncodeToString(wav) + `"` + members + `}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url, openai.AudioFormType, bytes.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestTranscriptions(t *testing.T) {
	s := start(t, fast())
	url := s.OpenAIURL() + "/v1/audio/transcriptions"
	for _, row := range []struct {
		members string
		code    int
		want    string
	}{
		{`,"max_tokens":2`, 200, `^\{"text":"[^"]+","usage":\{"type":"tokens","input_tokens":5,"input_token_details":\{"text_tokens":0,"audio_tokens":5\},"output_tokens":2,"total_tokens":7\}\}$`},
		{`,"max_tokens":2,"response_format":"verbose_json"`, 200, `^\{"task":"transcribe","language":"english","duration":0.5,"text":"[^"]+","segments":\[\],"usage"`},
		{`,"max_tokens":2,"response_format":"text"`, 200, `^ \w+ \w+\n$`},
		{`,"max_tokens":2,"stream":true`, 200, `^(data: \{"type":"transcript.text.delta","delta":"[^"]+"\}\n\n){2}data: \{"type":"transcript.text.done","text":"[^"]+","usage":\{.*\}\}\n\n$`},
		{`,"max_tokens":1,"stream":true,"sim_shape":"segments"`, 200, `^data: \{"type":"transcript.text.delta".*\n\ndata: \{"type":"transcript.text.segment".*\n\ndata: \{"type":"transcript.text.done"`},
		{`,"max_tokens":1,"stream":true,"sim_shape":"vllm","stream_include_usage":true`, 200, `^data: \{"id":"trsc-sim-\d+","object":"transcription.chunk".*"finish_reason":"length"\}\]\}\n\ndata: .*"choices":\[\],"usage":\{"prompt_tokens":5,.*\n\ndata: \[DONE\]\n\n$`},
		{`,"max_tokens":1,"stream":true,"sim_unknown_events":true`, 200, `^data: \{"type":"sim.unknown"`},
		{`,"sim_shape":"x"`, 400, `expected openai, segments or vllm`},
		{`,"model":"none"`, 404, `there is no model`},
		{`,"max_tokens":"many"`, 400, `is not a number`},
	} {
		code, body := transcribe(t, url, row.members)
		if code != row.code || !regexp.MustCompile(row.want).MatchString(body) {
			t.Errorf("%s: %d\n%s, want\n%s", row.members, code, body, row.want)
		}
	}
	transcribe(t, s.OpenAIURL()+"/v1/audio/translations", `,"max_tokens":3,"stream":true`)
	if e := last(t, s); e.Protocol != OpenAITranscription || e.OutputTokens != 3 || e.InputTokens != 5 || len(e.TokenTimesNS()) != 3 {
		t.Errorf("ledger: %+v", e)
	}
	for kind, body := range map[string]string{"application/json": "{}", "multipart/form-data": "x", "multipart/form-data; boundary=b": "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nsim\r\n--b--\r\n"} {
		resp, err := http.Post(url, kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 400 {
			t.Errorf("%s: %d", kind, resp.StatusCode)
		}
	}
}

func TestSpeech(t *testing.T) {
	s := start(t, fast())
	url := s.OpenAIURL() + "/v1/audio/speech"
	for _, row := range []struct{ body, want string }{
		{`{"voice":"a"}`, "input: field required"},
		{`{"input":"a"}`, "voice: field required"},
		{`{"input":"a","voice":"a","stream_format":"x"}`, "expected audio or sse"},
		{`{"input":"a","voice":"a","sim_audio_ms":0}`, "sim_audio_ms is 0"},
		{`{"input":"a b","voice":"a","stream_format":"sse","response_format":"pcm","max_tokens":2,"sim_audio_ms":1}`, `"usage":{"input_tokens":2,"output_tokens":2,"total_tokens":4}`},
	} {
		_, body, err := post(t, url, row.body)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(body), row.want) {
			t.Errorf("%s:\n%s, want\n%s", row.body, body, row.want)
		}
	}
	if e := last(t, s); e.Protocol != OpenAISpeech || e.OutputTokens != 2 || len(e.TokenTimesNS()) != 2 {
		t.Errorf("ledger: %+v", e)
	}
	_, body, err := post(t, url, `{"input":"a","voice":"a","response_format":"wav","max_tokens":3,"sim_audio_ms":20}`)
	if err != nil {
		t.Fatal(err)
	}
	if ns, why := audio.DurationNS(body); ns != 60e6 || why != "" {
		t.Errorf("3 tokens of 20 ms play %d ns, %q", ns, why)
	}
	_, body, err = post(t, url, `{"input":"a","voice":"a","max_tokens":3}`)
	if _, why := audio.DurationNS(body); err != nil || len(body) == 0 || why == "" {
		t.Errorf("an MP3 of %d bytes: %v, %q", len(body), err, why)
	}
}
