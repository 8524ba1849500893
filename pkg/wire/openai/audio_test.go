package openai_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/wire/audio"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// clipURL is a WAV file of 0.25 s as a data: URL.
func clipURL() string {
	wav := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\xa0\x0f\x00\x00"), make([]byte, 4000)...)
	return "data:audio/wav;base64," + base64.StdEncoding.EncodeToString(wav)
}

func TestAudioForm(t *testing.T) {
	body := `{"model":"w","language":"de","temperature":0.5,"stream":true,"prompt":null,"timestamp_granularities":["word","segment"],"file":{"url":"` + clipURL() + `","name":"a\"b.wav"}}`
	form, shown, err := openai.AudioForm([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := openai.AudioForm([]byte(body))
	if !bytes.Equal(form, again) {
		t.Error("the same request gives two forms")
	}
	_, parameters, err := mime.ParseMediaType(openai.AudioFormType)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r := multipart.NewReader(bytes.NewReader(form), parameters["boundary"]); ; {
		p, err := r.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(p)
		if p.FileName() != "" {
			got = append(got, p.FormName()+" "+p.FileName()+" "+p.Header.Get("Content-Type"))
			if len(content) != 4044 {
				t.Errorf("the clip has %d bytes", len(content))
			}
			continue
		}
		got = append(got, p.FormName()+"="+string(content))
	}
	want := `model=w language=de temperature=0.5 stream=true timestamp_granularities[]=word timestamp_granularities[]=segment file a%22b.wav audio/wav`
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if bytes.Contains(shown, []byte("base64")) || !json.Valid(shown) {
		t.Errorf("the request in exports: %s", shown)
	}
	if !bytes.Contains(shown, []byte(`"file":{"name":"a\"b.wav","type":"audio/wav","bytes":4044,"seconds":0.25,"sha256":"`)) {
		t.Errorf("the clip in exports: %s", shown)
	}
	if ns, why := openai.ClipNS(shown); ns != 25e7 || why != "" {
		t.Errorf("the clip has %d ns, %q", ns, why)
	}
}

func TestAudioFormInvalid(t *testing.T) {
	inside := base64.StdEncoding.EncodeToString([]byte("--pa-record-form-8f14e45fceea167a5a36dedd4bea2543"))
	for body, want := range map[string]string{
		`{"model":"w"}`:                       `the request has no "file"`,
		`{"file":"https://x/a.wav"}`:          "a form holds the clip itself",
		`{"file":7}`:                          "a form holds the clip itself",
		`{"file":"data:audio/wav;base64,!"}`:  "the data: URL: illegal base64",
		`{"file":{"name":"a","sha256":"00"}}`: "it is the description of an export",
		`{"file":{"url":"data:audio/mp3;base64,AAAA","seconds":-1}}`:    "seconds -1: expected a number above 0",
		`{"file":{"url":"data:audio/mp3;base64,AAAA","seconds":1e999}}`: "seconds 1e999",
		`{"file":"data:audio/wav;base64,` + inside + `"}`:               "which separates the fields of a form",
		`[]`: "expected an object",
	} {
		if _, _, err := openai.AudioForm([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v; want %q", body, err, want)
		}
	}
}

func TestClipNS(t *testing.T) {
	for shown, want := range map[string]int64{
		`{"file":{"seconds":1.5}}`: 15e8, `{"file":{"no_seconds":"x"}}`: 0, `{"file":{"seconds":-1}}`: 0, `{"file":{"seconds":"1"}}`: 0,
		`{"file":{"seconds":1e300}}`: 0, `{"file":[1]}`: 0, `{}`: 0, `x`: 0, ``: 0,
	} {
		if ns, why := openai.ClipNS([]byte(shown)); ns != want || (why == "") != (want > 0) {
			t.Errorf("%s: %d, %q", shown, ns, why)
		}
	}
	// The length that a row states counts where the header states none.
	_, shown, err := openai.AudioForm([]byte(`{"file":{"url":"data:audio/mp3;base64,AAAA","seconds":2.5}}`))
	if ns, why := openai.ClipNS(shown); err != nil || ns != 25e8 || why != "" {
		t.Errorf("%s: %d, %q, %v", shown, ns, why, err)
	}
}

// Texts that repeat earlier ones are no output.
func TestTranscription(t *testing.T) {
	const deltas = `{"type":"transcript.text.delta","delta":"a"}` + "\n" + `{"type":"transcript.text.delta","delta":" b"}` + "\n"
	const segments = `{"type":"transcript.text.segment","id":"s1","start":0,"end":1,"text":"a","speaker":"A"}` + "\n" + `{"type":"transcript.text.segment","id":"s2","start":1,"end":2,"text":" b"}` + "\n"
	const done = `{"type":"transcript.text.done","text":"a b","usage":{"type":"tokens","input_tokens":14,"output_tokens":2,"total_tokens":16,"input_token_details":{"audio_tokens":14}}}`
	for name, c := range map[string]struct {
		stream string
		text   string
		events int
	}{
		"deltas":              {deltas + done, "a b", 2},
		"segments":            {segments + done, "a b", 2},
		"deltas and segments": {deltas + segments + done, "a b", 2},
		"only the end":        {done, "a b", 1},
		"vLLM": {`{"object":"transcription.chunk","choices":[{"delta":{"content":"a"}}]}` + "\n" +
			`{"object":"transcription.chunk","choices":[{"delta":{"content":" b"},"finish_reason":"stop"}]}` + "\n" +
			`{"object":"transcription.chunk","choices":[],"usage":{"prompt_tokens":14,"completion_tokens":2,"total_tokens":16}}`, "a b", 2},
		"whole":          {`{"text":"a b","usage":{"type":"tokens","input_tokens":14,"output_tokens":2}}`, "a b", 1},
		"whole, verbose": {`{"task":"transcribe","language":"english","duration":2.0,"text":"a b","segments":[],"usage":{"input_tokens":14,"output_tokens":2}}`, "a b", 1},
	} {
		var st openai.Stream
		var ch openai.Chunk
		text, events := "", 0
		for line := range strings.SplitSeq(c.stream, "\n") {
			if err := openai.ParseFrame([]byte("data: "+line+"\n\n"), &ch); err != nil {
				t.Fatal(err)
			}
			st.Add(&ch)
			if ch.HasOutput() {
				text, events = text+string(ch.Choices[0].Content), events+1
			}
		}
		if text != c.text || events != c.events || st.OutputChunks != c.events || !st.Complete() {
			t.Errorf("%s: %q in %d events, %+v", name, text, events, st)
		}
		if !st.HasUsage || st.Usage.CompletionTokens != 2 || st.Usage.PromptTokens != 14 {
			t.Errorf("%s: usage %+v", name, st.Usage)
		}
	}
}

func TestAudioWriter(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 40)
	event := []byte(`data: {"type":"speech.audio.delta","audio":"` + base64.StdEncoding.EncodeToString(content) + "\"}\n\n")
	for _, keep := range []bool{false, true} {
		raw, events := openai.AudioWriter{Keep: keep}, openai.AudioWriter{Keep: keep}
		var heads [2][]byte
		for i := range 3 {
			frames := [2][]byte{raw.AppendRaw(nil, content), event}
			if b, ok := events.AppendEvent(nil, event); ok {
				frames[1] = b
			} else if !keep {
				t.Fatal("no event with audio")
			}
			for k, f := range frames {
				var ch openai.Chunk
				if err := openai.ParseFrame(f, &ch); err != nil || !ch.HasAudio || ch.RawAudio != (k == 0) || ch.Audio.Bytes != 400 || ch.HasOutput() || ch.Error != nil {
					t.Errorf("piece %d: %s: %+v, %v", i, f, ch, err)
				}
				head, err := base64.StdEncoding.AppendDecode(heads[k], ch.Audio.Head)
				if err != nil {
					t.Error(err)
				}
				heads[k] = head
				if !keep && len(f) > 1000 {
					t.Errorf("%d bytes describe 400", len(f))
				}
			}
		}
		for _, head := range heads {
			if want := bytes.Repeat(content, 3); !bytes.HasPrefix(want, head) || len(head) < openai.AudioHeadBytes || keep && len(head) != 1200 {
				t.Errorf("keep %v: %d bytes are kept", keep, len(head))
			}
		}
	}
	for _, other := range []string{"data: {\"type\":\"speech.audio.done\"}\n\n", ": speech.audio.delta\n\n", "data: {\"type\":\"speech.audio.delta\"\n\n", "data: {\"type\":\"speech.audio.delta\",\"audio\":5}\n\n"} {
		if b, ok := new(openai.AudioWriter).AppendEvent(nil, []byte(other)); ok || b != nil {
			t.Errorf("%q is taken for audio: %s", other, b)
		}
	}
}

// A stream of events with audio ends with speech.audio.done; raw audio ends with its body.
func TestSpeechEnds(t *testing.T) {
	for stream, want := range map[string]bool{
		`{"type":"speech.audio.delta","audio":"AAAA"}`:                                         false,
		`{"type":"speech.audio.delta","audio":"AAAA"}` + "\n" + `{"type":"speech.audio.done"}`: true,
		`{"type":"pa.audio","audio":{"bytes":3}}`:                                              true,
	} {
		var st openai.Stream
		for line := range strings.SplitSeq(stream, "\n") {
			var ch openai.Chunk
			if err := openai.ParseFrame([]byte("data: "+line+"\n\n"), &ch); err != nil {
				t.Fatal(err)
			}
			st.Add(&ch)
		}
		if st.Complete() != want {
			t.Errorf("%s: complete %v", stream, st.Complete())
		}
	}
}

func TestSpeechFormat(t *testing.T) {
	wav, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(clipURL(), "data:audio/wav;base64,"))
	for _, c := range []struct {
		request string
		head    []byte
		want    audio.Format
		skip    int
		why     string
	}{
		{`{"response_format":"wav"}`, wav, audio.Format{Rate: 8000, FrameBytes: 2}, 44, ""},
		{`{"response_format":"pcm"}`, []byte{1, 2}, audio.PCM24K, 0, ""},
		{`{"response_format":"pcm","sample_rate":16000}`, nil, audio.Format{Rate: 16000, FrameBytes: 2}, 0, ""},
		{`{"response_format":"pcm","sample_rate":-5}`, nil, audio.PCM24K, 0, ""},
		{`{"response_format":"opus"}`, []byte("OggS"), audio.Format{}, 0, "opus is compressed"},
		{`{}`, nil, audio.Format{}, 0, "the server's usual format is compressed"},
		{`{"response_format":"wav"}`, wav[:20], audio.Format{}, 0, "the WAV header has no known format"},
		{`x`, wav[:3], audio.Format{}, 0, "the server's usual format"},
	} {
		f, skip, why := openai.SpeechFormat([]byte(c.request), c.head)
		if f != c.want || skip != c.skip || !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %+v, %d, %q", c.request, f, skip, why)
		}
	}
}

func TestAudioOf(t *testing.T) {
	for path, want := range map[string]openai.AudioEndpoint{
		"v1/audio/transcriptions": openai.Transcribes, "/x/v1/audio/translations/?a=b": openai.Transcribes, "audio/speech": openai.Speaks, "v1/speech": openai.NoAudio, "": openai.NoAudio,
	} {
		if got := openai.AudioOf(path); got != want {
			t.Errorf("%s: %d", path, got)
		}
	}
}

func FuzzAudioForm(f *testing.F) {
	f.Add([]byte(`{"model":"w","include":["logprobs",1,{}],"file":{"url":"` + clipURL() + `","name":"a.wav","seconds":2}}`))
	f.Add([]byte(`{"file":"data:audio/mp3;base64,AAAA","language":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		form, shown, err := openai.AudioForm(body)
		openai.ClipNS(body)
		if err != nil {
			return
		}
		if !json.Valid(shown) {
			t.Errorf("%q", shown)
		}
		_, parameters, _ := mime.ParseMediaType(openai.AudioFormType)
		r := multipart.NewReader(bytes.NewReader(form), parameters["boundary"])
		for {
			p, err := r.NextRawPart()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatalf("%v in %q", err, form)
			}
			if _, err := io.Copy(io.Discard, p); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzAudioEvents(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"speech.audio.delta\",\"audio\":\"UklGRg==\"}\n\n"))
	f.Add([]byte(`{"type":"pa.audio","audio":{"bytes":1e18,"head":"UklG"}}`))
	f.Add([]byte(`data: {"type":"transcript.text.segment","text":"a"}`))
	f.Fuzz(func(t *testing.T, frame []byte) {
		var w openai.AudioWriter
		if b, ok := w.AppendEvent(nil, frame); ok {
			var was, is openai.Chunk
			if openai.ParseFrame(frame, &was) == nil && (openai.ParseFrame(b, &is) != nil || was.HasAudio && was.Audio.Bytes != is.Audio.Bytes) {
				t.Errorf("%q: %+v, %+v", b, was.Audio, is.Audio)
			}
		}
		var c openai.Chunk
		var st openai.Stream
		if openai.ParseFrame(frame, &c) == nil {
			st.Add(&c)
		}
		if c.Audio.Bytes < 0 {
			t.Errorf("%d bytes", c.Audio.Bytes)
		}
	})
}
