package render

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func extra(kv ...string) export.Fields {
	var f export.Fields
	for i := 0; i < len(kv); i += 2 {
		f = append(f, export.Field{Name: kv[i], Value: export.JSON(kv[i+1])})
	}
	return f
}

const dialog = `[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"u"},{"type":"image_url"}]}]`

// TestBody compares bodies with the documentation of the APIs.
func TestBody(t *testing.T) {
	type P = workload.Prompt
	for _, tt := range []struct {
		name string
		api  API
		p    P
		o    Options
		want string
	}{
		{"chat", Chat, P{Text: "a \"b\"\n\xff"}, Options{}, `{"messages":[{"role":"user","content":"a \"b\"\n�"}]}`},
		{"chat with all", Chat, P{System: "s", Text: "a", MaxTokens: 7, Extra: extra("temperature", "0.50")}, Options{Model: "m", Stream: true, Usage: true}, `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"temperature":0.50}`},
		{"chat of GenAI-Perf", Chat, P{Text: "a", MaxTokens: 7, Extra: extra("min_tokens", "7", "ignore_eos", "true")}, Options{Model: "m", Stream: true}, `{"model":"m","messages":[{"role":"user","content":"a"}],"stream":true,"max_tokens":7,"min_tokens":7,"ignore_eos":true}`},
		{"no usage without a stream", Chat, P{Text: "a"}, Options{Usage: true}, `{"messages":[{"role":"user","content":"a"}]}`},
		{"a conversation as it is", Chat, P{Messages: []byte(dialog)}, Options{}, `{"messages":` + dialog + `}`},
		{"further members win", Chat, P{Text: "a", MaxTokens: 7, Extra: extra("max_tokens", "9")}, Options{}, `{"messages":[{"role":"user","content":"a"}],"max_tokens":9}`},
		{"several texts", Chat, P{Text: "a", More: []string{"b"}}, Options{}, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}`},
		{
			"media", Chat,
			P{Text: "a", Media: []workload.Medium{{Kind: workload.Image, URL: "data:image/png;base64,AA=="}, {Kind: workload.Audio, URL: "data:audio/wav;base64,BB=="}, {Kind: workload.Audio, URL: "data:audio/mpeg;base64,CC=="}, {Kind: workload.Audio, URL: "http://x/a.wav"}}},
			Options{},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},{"type":"input_audio","input_audio":{"data":"BB==","format":"wav"}},{"type":"input_audio","input_audio":{"data":"CC==","format":"mp3"}},{"type":"audio_url","audio_url":{"url":"http://x/a.wav"}}]}]}`,
		},
		{"an image alone", Chat, P{Media: []workload.Medium{{Kind: workload.Image, URL: "http://x/a.png"}}}, Options{}, `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/a.png"}}]}]}`},
		{"a whole request", Chat, P{Text: "b", MaxTokens: 9, Body: []byte(` { "prompt" : "a" } `)}, Options{Model: "m", Stream: true}, `{"prompt":"a"}`},

		{"completions", Completions, P{Text: "a", System: "s", MaxTokens: 7}, Options{Model: "m", Stream: true, Usage: true}, `{"model":"m","prompt":"s a","stream":true,"stream_options":{"include_usage":true},"max_tokens":7}`},
		{"completions of several", Completions, P{Text: "a", More: []string{"b"}}, Options{}, `{"prompt":["a","b"]}`},
		{"completions of a conversation", Completions, P{Messages: []byte(dialog)}, Options{}, `{"prompt":"s u "}`},
		{"completions of ids", Completions, P{IDs: []uint32{5, 6}, MaxTokens: 1, Exact: true}, Options{}, `{"prompt":[5,6],"max_tokens":1,"min_tokens":1,"ignore_eos":true}`},
		{"embeddings", Embeddings, P{Text: "a", MaxTokens: 7}, Options{Model: "m", Stream: true}, `{"model":"m","input":"a"}`},
		{"embeddings of images", Embeddings, P{Text: "a", Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}}}, Options{Model: "m"}, `{"model":"m","input":["a","data:x"]}`},
		{"embeddings of an image alone", Embeddings, P{Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}}}, Options{}, `{"input":["data:x"]}`},
		{"pooling", Pooling, P{System: "s", Text: "a", MaxTokens: 7, Extra: extra("encoding_format", `"base64"`, "dimensions", "8")}, Options{Model: "m", Stream: true}, `{"model":"m","input":"s a","encoding_format":"base64","dimensions":8}`},
		{"pooling of several", Pooling, P{Text: "a", More: []string{"b"}}, Options{}, `{"input":["a","b"]}`},
		{"pooling of ids", Pooling, P{IDs: []uint32{5, 6}}, Options{}, `{"input":[5,6]}`},
		{"pooling of an image", Pooling, P{Text: "a", Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}}}, Options{Model: "m"}, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}}]}]}`},
		{"classes of a conversation", Classify, P{Messages: []byte(dialog)}, Options{Model: "m"}, `{"model":"m","messages":` + dialog + `}`},
		{"score", Score, P{Text: "q", More: []string{"a", "b"}}, Options{Model: "m"}, `{"model":"m","text_1":"q","text_2":["a","b"]}`},
		{"images", Images, P{System: "s", Text: "a cat", MaxTokens: 7, Extra: extra("n", "2", "size", `"1024x1024"`)}, Options{Model: "m"}, `{"model":"m","prompt":"s a cat","n":2,"size":"1024x1024"}`},
		{"images, streamed", Images, P{Text: "a cat", Extra: extra("partial_images", "3")}, Options{Model: "m", Stream: true, Usage: true}, `{"model":"m","prompt":"a cat","stream":true,"partial_images":3}`},
		{"image retrieval", ImageRetrieval, P{Text: "a", Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}, {Kind: workload.Image, URL: "http://y"}}}, Options{Model: "m"}, `{"input":[{"type":"image_url","url":"data:x"},{"type":"image_url","url":"http://y"}]}`},
		{"responses", Responses, P{System: "s", Text: "a", MaxTokens: 7}, Options{Model: "m", Stream: true, Usage: true}, `{"model":"m","instructions":"s","input":"a","stream":true,"max_output_tokens":7}`},
		{"responses to a conversation", Responses, P{Messages: []byte(strings.Replace(dialog, `"image_url"}`, `"image_url","image_url":{"url":"data:x"}}`, 1))}, Options{}, `{"input":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"input_text","text":"u"},{"type":"input_image","image_url":"data:x"}]}]}`},
		{"generate", Generate, P{Text: "a", MaxTokens: 7, Exact: true}, Options{Model: "m", Stream: true}, `{"text_input":"a","stream":true,"max_tokens":7,"min_tokens":7}`},
		{"TGI", TGI, P{Text: "a", MaxTokens: 7, Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}}}, Options{Model: "m"}, `{"model":"m","inputs":"![](data:x) a","parameters":{"max_new_tokens":7}}`},
		{"TGI with several", TGI, P{Text: "a", More: []string{"b"}, Media: []workload.Medium{{Kind: workload.Image, URL: "data:x"}, {Kind: workload.Image, URL: "data:y"}}}, Options{}, `{"inputs":"![](data:x) ![](data:y) a b"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Body(tt.api, &tt.p, tt.o)
			if err != nil || string(got) != tt.want {
				t.Errorf("Body = %s, %v\nwant   %s", got, err, tt.want)
			}
			if !json.Valid(got) {
				t.Error("is not JSON")
			}
		})
	}
}

func TestBodyErrors(t *testing.T) {
	sound := workload.Prompt{Text: "a", Media: []workload.Medium{{Kind: workload.Audio, URL: "data:audio/wav,xx"}}}
	for _, tt := range []struct {
		api  API
		p    workload.Prompt
		want string
	}{
		{Chat, sound, "an audio clip in a data: URL must be in base64"},
		{Chat, workload.Prompt{IDs: []uint32{1}}, "a chat cannot hold token ids"},
		{Completions, sound, "completions take no audio; use the chat endpoint"},
		{Embeddings, sound, "embeddings take no audio"},
		{Responses, sound, "responses take no audio"},
		{Generate, sound, "Triton's generate endpoints take no audio"},
		{TGI, sound, "Hugging Face's generate endpoints take no audio"},
		{Images, sound, "image generations take no audio"},
		{Score, workload.Prompt{Text: "a"}, "a ranking takes a query"},
		{Pooling, sound, "an audio clip in a data: URL must be in base64"},
		{ImageRetrieval, workload.Prompt{Text: "a"}, "the endpoint takes images; give \"image\""},
		{ImageRetrieval, sound, "image endpoints take no audio"},
		{0, workload.Prompt{Text: "a"}, "no request format for prompts is known for this endpoint; give whole requests"},
		{Chat, workload.Prompt{Body: []byte("{")}, "byte"},
	} {
		if got, err := Body(tt.api, &tt.p, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Body(%v, %+v) = %s, %v; want an error with %q", tt.api, tt.p, got, err, tt.want)
		}
	}
}

func TestAPIOf(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		want     API
	}{
		{"v1/chat/completions", Chat},
		{"/openai/deployments/d/chat/completions/", Chat},
		{"v1/completions", Completions},
		{"v1/embeddings", Embeddings},
		{"v1/responses", Responses},
		{"pooling", Pooling},
		{"v1/images/generations", Images},
		{"v1/classify", Classify},
		{"v1/score", Score},
		{"v1/infer", ImageRetrieval},
		{"v2/models/m/infer", 0},
		{"v2/models/m/generate", Generate},
		{"v2/models/m/versions/1/generate_stream", Generate},
		{"generate", TGI},
		{"generate_stream", TGI},
		{"v1/mycompletions", 0},
		{"", 0},
	} {
		if got, ok := APIOf(tt.endpoint); got != tt.want || ok != (tt.want != 0) {
			t.Errorf("APIOf(%q) = %v, %v; want %v", tt.endpoint, got, ok, tt.want)
		}
	}
}

// only returns Options.Has of a model with these inputs.
func only(inputs ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(inputs, name) }
}

func TestTensors(t *testing.T) {
	type P = workload.Prompt
	picture := []workload.Medium{{Kind: workload.Image, URL: "data:image/png;base64,AA=="}}
	for _, tt := range []struct {
		name string
		s    Style
		p    P
		o    Options
		want string
	}{
		{"vLLM", VLLM, P{System: "s", Text: "a", MaxTokens: 7, Exact: true}, Options{Stream: true}, `text_input=["s a"] exclude_input_in_output=[true] stream=[true] sampling_parameters=["{\"max_tokens\":7,\"min_tokens\":7,\"ignore_eos\":true}"]`},
		{"vLLM with members", VLLM, P{Text: "a", Media: picture, Extra: extra("temperature", "0.5", "return_num_output_tokens", "true", "return_x", "1", "model", `"m"`)}, Options{Has: only("text_input", "stream", "sampling_parameters", "return_num_output_tokens")}, `text_input=["a"] return_num_output_tokens=[true] sampling_parameters=["{\"temperature\":0.5,\"return_x\":1}"] image=["AA=="]`},
		{"vLLM with nothing", VLLM, P{Messages: []byte(dialog)}, Options{Has: func(name string) bool { return name == "text_input" }}, `text_input=["s u "]`},
		{"TensorRT-LLM", TensorRTLLM, P{Text: "a", MaxTokens: 7, Exact: true, Extra: extra("temperature", "0.5", "x", "1")}, Options{Stream: true, Has: only("text_input", "max_tokens", "min_tokens", "stream", "temperature")}, `text_input=["a"] max_tokens=[7] stream=[true] min_tokens=[7] temperature=[0.5]`},
		{"TensorRT-LLM of GenAI-Perf", TensorRTLLM, P{Text: "a", MaxTokens: 7, Exact: true}, Options{Stream: true}, `text_input=["a"] max_tokens=[7] exclude_input_in_output=[true] stream=[true] min_length=[7]`},
		{"engine", Engine, P{Text: "a", IDs: []uint32{5, 6}, MaxTokens: 7, Exact: true}, Options{Stream: true}, `input_ids={"content":[5,6],"shape":[2]} input_lengths=[2] request_output_len=[7] streaming=[true] min_length=[7]`},
		{"engine with a tokenizer", Engine, P{System: "s", Text: "a"}, Options{Encode: func(s string) []uint32 { return []uint32{uint32(len(s))} }}, `input_ids={"content":[3],"shape":[1]} input_lengths=[1] request_output_len=[256]`},
		{"LLM API", LLMAPI, P{Text: "a", MaxTokens: 7, Extra: extra("temperature", "0.5", "x", "1")}, Options{Stream: true, Has: only("text_input", "streaming", "sampling_param_max_tokens", "sampling_param_temperature")}, `text_input=["a"] streaming=[true] sampling_param_max_tokens=[7] sampling_param_temperature=[0.5]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := Tensors(tt.s, &tt.p, tt.o)
			var got []string
			for _, m := range f {
				got = append(got, m.Name+"="+string(m.Value.Data))
				if !json.Valid(m.Value.Data) {
					t.Errorf("%s is not JSON", m.Name)
				}
			}
			if strings.Join(got, " ") != tt.want || err != nil {
				t.Errorf("Tensors = %s, %v\nwant      %s", strings.Join(got, " "), err, tt.want)
			}
		})
	}
	for _, tt := range []struct {
		s    Style
		p    P
		want string
	}{
		{VLLM, P{Text: "a", More: []string{"b"}}, "2 texts in a prompt"},
		{VLLM, P{Media: []workload.Medium{{Kind: workload.Image, URL: "http://x/y"}}}, "take the contents of images"},
		{VLLM, P{Media: []workload.Medium{{Kind: workload.Image, URL: "data:image/png;base64,?"}}}, "illegal base64"},
		{TensorRTLLM, P{Media: picture}, "take no image"},
		{Engine, P{Text: "a"}, "the model takes token ids; give the model's --tokenizer"},
		{Engine, P{}, "an empty prompt"},
		{LLMAPI, P{Text: "a", MaxTokens: 1, Exact: true}, "has no input for an exact output length"},
		{0, P{Text: "a"}, "expected vllm, tensorrtllm"},
	} {
		if _, err := Tensors(tt.s, &tt.p, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Tensors(%v, %+v): error %v, want %q", tt.s, tt.p, err, tt.want)
		}
	}
}

func TestStyles(t *testing.T) {
	for _, tt := range []struct {
		inputs string
		want   Style
	}{
		{"text_input stream sampling_parameters exclude_input_in_output image", VLLM},
		{"text_input max_tokens bad_words stop_words stream", TensorRTLLM},
		{"input_ids input_lengths request_output_len streaming", Engine},
		{"text_input streaming sampling_param_max_tokens", LLMAPI},
		{"INPUT0 INPUT1", 0},
	} {
		got, err := StyleOf(strings.Fields(tt.inputs))
		if got != tt.want || (err == nil) != (tt.want != 0) {
			t.Errorf("StyleOf(%s) = %v, %v; want %v", tt.inputs, got, err, tt.want)
		}
		if back, err := ParseStyle(tt.want.String()); tt.want != 0 && (err != nil || back != tt.want) {
			t.Errorf("ParseStyle(%q) = %v, %v", tt.want, back, err)
		}
	}
	if _, err := ParseStyle("tgi"); err == nil {
		t.Error("no error for an unknown backend")
	}
}
