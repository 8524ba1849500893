package frontend

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/py"
)

// BenchmarkServing returns the front end of benchmark_serving.py of TensorRT-LLM.
func BenchmarkServing() *Tool {
	return &Tool{
		Name:  "benchmark_serving",
		Usage: "take a command line of TensorRT-LLM's script",
		About: `Takes the command lines of tensorrt_llm.serve.scripts.benchmark_serving: each
of --num-prompts prompts is sent once, at a rate or as fast as --max-concurrency
allows. Prints the pa-record command that this stands for, and runs that. Flags
after -- are pa-record's: -- --dry-run.`,
		Examples: []cmdline.Example{
			{Does: "random prompts of 1024 tokens, 8 at a time, to a completions API", Line: "pa-record benchmark_serving --model llama --dataset-name random \\\n  --num-prompts 40 --max-concurrency 8 --ignore-eos"},
			{Does: "the file of --save-result, in two steps: record, then report", Line: "pa-record benchmark_serving --model llama --dataset-name random \\\n  --num-prompts 40 --save-result --result-dir out --result-filename r.json\npa-analyze report out/r_profile_export.json --format json -o out/r.json"},
			{Does: "conversations of ShareGPT to a chat API, ten a second", Line: "pa-record benchmark_serving --model llama --backend openai-chat \\\n  --dataset-path sharegpt.json --num-prompts 200 --request-rate 10"},
		},
		releases: sync.OnceValue(func() []*release {
			return []*release{{options: benchmarkServingOptions(), translate: translateBenchmarkServing}}
		}),
		choose: func(t *Tool, args []string) (*release, []string, error) {
			return t.releases()[0], dashes(args), nil
		},
	}
}

// dashes replaces underscores in long option names: the script's parser accepts both.
func dashes(args []string) []string {
	var all []string
	for i, arg := range args {
		if arg == "--" {
			return append(all, args[i:]...)
		}
		name, value, joined := strings.Cut(arg, "=")
		if strings.HasPrefix(name, "--") {
			arg = strings.ReplaceAll(name, "_", "-")
			if joined {
				arg += "=" + value
			}
		}
		all = append(all, arg)
	}
	return all
}

const (
	noLoRA    = "give the module's name as --served-model-name"
	noProfile = "start the server's profiler by hand"
)

func benchmarkServingOptions() options {
	return slices.Concat(options{
		{names: []string{"--backend"}, arg: "NAME", choices: []string{"openai", "openai-chat", "openai-embeddings", "vllm-pooling", "vllm-rerank"}, defaultValue: "openai", group: "Endpoint", usage: "the API: completions, or chat; the last three are vLLM's and answer with numbers", support: body},
		{names: []string{"--base-url"}, arg: "URL", group: "Endpoint", usage: "the server's address", support: alias, note: "-u"},
		{names: []string{"--host"}, arg: "HOST", defaultValue: "127.0.0.1", group: "Endpoint", usage: "without --base-url, its host", support: alias, note: "-u"},
		{names: []string{"--port"}, arg: "PORT", kind: positive, defaultValue: "8000", group: "Endpoint", usage: "without --base-url, its port", support: alias, note: "-u"},
		{names: []string{"--endpoint"}, arg: "PATH", defaultValue: "/v1/completions", group: "Endpoint", usage: "the path to ask; openai-chat always asks the path of chat completions", support: same},
		{names: []string{"--model"}, arg: "NAME", group: "Endpoint", usage: "the model, or the path from which the server loaded it", support: same},
		{names: []string{"--served-model-name"}, arg: "NAME", group: "Endpoint", usage: "the server's name for the model", support: alias, note: "-m"},
		{names: []string{"--lora-modules"}, arg: "NAME", list: true, group: "Endpoint", usage: "modules to choose from", support: refused, note: noLoRA},

		{names: []string{"--num-prompts"}, arg: "N", kind: positive, defaultValue: "1000", group: "Load", usage: "number of requests", support: alias, note: "--request-count"},
		{names: []string{"--max-concurrency"}, arg: "N", kind: positive, group: "Load", usage: "at most N requests in flight", support: alias, note: "--concurrency-range, with a rate --max-concurrency"},
		{names: []string{"--request-rate"}, arg: "R", kind: number, defaultValue: "inf", group: "Load", usage: "requests a second; inf is all at once", support: alias, note: "--request-rate-range"},
		{names: []string{"--burstiness"}, arg: "B", kind: number, defaultValue: "1.0", group: "Load", usage: "shape of the gaps: 1 is Poisson, less comes in bursts", support: same},
		{names: []string{"--no-test-input"}, group: "Load", usage: "send no request ahead", support: alias, note: "--warmup-request-count"},
		{names: []string{"--seed"}, arg: "N", kind: natural, defaultValue: "0", group: "Load", usage: "seed of everything random", support: alias, note: "--random-seed"},
		{names: []string{"--profile"}, group: "Load", usage: "", support: refused, note: noProfile},
	}, benchmarkServingData(), options{
		{names: []string{"--tokenizer"}, arg: "NAME", group: "Tokens", usage: "the tokenizer (default: the model's)", support: same},
		{names: []string{"--tokenizer-mode"}, arg: "MODE", choices: []string{"auto", "slow", "mistral", "custom"}, defaultValue: "auto", group: "Tokens", usage: "", support: unneeded, note: "a tokenizer is what its files say"},
		{names: []string{"--custom-tokenizer"}, arg: "CLASS", group: "Tokens", usage: "", support: refused, note: "no code of a tokenizer is run; give --tokenizer its tokenizer.json"},
		{names: []string{"--trust-remote-code"}, group: "Tokens", usage: "", support: unneeded, note: "no code is run"},

		{names: []string{"--ignore-eos"}, group: "Requests", usage: "ask for answers of exactly the length", support: body},
		{names: []string{"--non-streaming"}, group: "Requests", usage: "ask for whole answers", support: body},
		{names: []string{"--temperature"}, arg: "T", kind: number, group: "Requests", usage: "sampling parameter (default: 0.0)", support: body},
		{names: []string{"--top-p"}, arg: "P", kind: number, group: "Requests", usage: "sampling parameter", support: body},
		{names: []string{"--top-k"}, arg: "K", kind: whole, group: "Requests", usage: "sampling parameter", support: body},
		{names: []string{"--min-p"}, arg: "P", kind: number, group: "Requests", usage: "sampling parameter", support: body},
		{names: []string{"--logprobs"}, arg: "N", kind: whole, group: "Requests", usage: "ask completions for the probabilities of N tokens", support: body},
		{names: []string{"--use-beam-search"}, group: "Requests", usage: "", support: unneeded, note: "does nothing in the script either"},

		{names: []string{"--percentile-metrics"}, arg: "NAMES", defaultValue: "ttft,tpot,itl,request_ar", group: "Report", usage: "what to report", support: hint},
		{names: []string{"--metric-percentiles"}, arg: "PCTS", defaultValue: "99", group: "Report", usage: "which percentiles", support: hint},
		{names: []string{"--goodput"}, arg: "NAME:MS", list: true, group: "Report", usage: "objectives", support: hint},
		{names: []string{"--save-result"}, group: "Report", usage: "print the pa-analyze command that writes the result", support: hint},
		{names: []string{"--save-detailed"}, group: "Report", usage: "with each request's figures", support: hint},
		{names: []string{"--result-dir"}, arg: "DIR", group: "Report", usage: "into this folder; the export goes there too", support: hint, note: "also the folder of --profile-export-file"},
		{names: []string{"--result-filename"}, arg: "FILE", group: "Report", usage: "into this file; the export goes beside it", support: hint, note: "also the name of --profile-export-file"},
		{names: []string{"--metadata"}, arg: "KEY=VALUE", list: true, group: "Report", usage: "further members of the result", support: hint},
		{names: []string{"--disable-tqdm"}, group: "Report", usage: "show no progress", support: alias, note: "--ui none"},
	})
}

// benchmarkServingData returns the options of data sets.
func benchmarkServingData() options {
	const g = "Data"
	return options{
		{names: []string{"--dataset-name"}, arg: "NAME", choices: []string{"sharegpt", "burstgpt", "sonnet", "random", "random_image", "hf", "trtllm_custom"}, defaultValue: "sharegpt", group: g, usage: "where prompts come from", support: alias, note: "--dataset, --input-data, or synthetic prompts; sonnet and hf are refused"},
		{names: []string{"--dataset-path"}, arg: "FILE", group: g, usage: "the data set's file", support: alias, note: "--input-data"},
		{names: []string{"--download-path"}, arg: "DIR", group: g, usage: "", support: unneeded, note: "data sets are kept where Hugging Face's tools keep them"},
		{names: []string{"--download-timeout"}, arg: "S", kind: whole, defaultValue: "180", group: g, usage: "", support: unneeded, note: "a download goes on as long as data comes"},
		{names: []string{"--random-input-len"}, arg: "N", kind: positive, defaultValue: "1024", group: g, usage: "length of random prompts", support: alias, note: "--synthetic-input-tokens-mean"},
		{names: []string{"--random-output-len"}, arg: "N", kind: positive, defaultValue: "128", group: g, usage: "length asked of their answers", support: alias, note: "--output-tokens-mean"},
		{names: []string{"--random-range-ratio"}, arg: "R", kind: number, defaultValue: "0.0", group: g, usage: "share by which lengths vary, evenly", support: alias, note: "uniform lengths"},
		{names: []string{"--random-prefix-len"}, arg: "N", kind: natural, defaultValue: "0", group: g, usage: "tokens that all random prompts begin with", support: alias, note: "--prefix-prompt-length"},
		{names: []string{"--random-ids"}, group: g, usage: "", support: unneeded, note: "random prompts have the exact length, whatever their text"},
		{names: []string{"--tokenize-on-client"}, group: g, usage: "send token ids", support: body},
		{names: []string{"--sharegpt-output-len"}, arg: "N", kind: positive, group: g, usage: "length asked of answers, instead of the data's", support: alias, note: "--output-tokens-mean"},
		{names: []string{"--sonnet-input-len"}, arg: "N", kind: whole, defaultValue: "550", group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--sonnet-output-len"}, arg: "N", kind: whole, defaultValue: "150", group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--sonnet-prefix-len"}, arg: "N", kind: whole, defaultValue: "200", group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--hf-subset"}, arg: "NAME", group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--hf-split"}, arg: "NAME", group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--hf-output-len"}, arg: "N", kind: whole, group: g, support: unneeded, note: "that data set is refused"},
		{names: []string{"--random-image-width"}, arg: "PX", kind: positive, defaultValue: "512", group: g, usage: "width of random_image's images", support: alias, note: "--image-width-mean"},
		{names: []string{"--random-image-height"}, arg: "PX", kind: positive, defaultValue: "512", group: g, usage: "their height", support: alias, note: "--image-height-mean"},
		{names: []string{"--random-image-size"}, arg: "PX", kind: positive, defaultValue: "512", group: g, usage: "width and height, where their own flags are 512", support: alias, note: "--image-width-mean, --image-height-mean"},
		{names: []string{"--random-num-images"}, arg: "N", kind: natural, defaultValue: "1", group: g, usage: "images of a request", support: alias, note: "--batch-size-image"},
	}
}

// serving translates a command line of benchmark_serving.
type serving struct {
	*builder
	a       *arguments
	chat    bool
	numbers bool // answers are numbers: embeddings, pooling or a ranking
	stream  bool
}

// numbersEndpoint returns the end of the endpoint of a backend of vLLM that answers with numbers.
func numbersEndpoint(backend string) (suffix string, ok bool) {
	switch backend {
	case "openai-embeddings":
		return "embeddings", true
	case "vllm-pooling":
		return "pooling", true
	case "vllm-rerank":
		return "rerank", true
	}
	return "", false
}

func translateBenchmarkServing(b *builder, a *arguments) {
	s := &serving{builder: b, a: a, chat: a.text("--backend") == "openai-chat", stream: !a.has("--non-streaming")}
	if _, s.numbers = numbersEndpoint(a.text("--backend")); s.numbers {
		s.stream = false
		for _, name := range []string{"--ignore-eos", "--temperature", "--top-p", "--top-k", "--min-p", "--logprobs", "--tokenize-on-client", "--sharegpt-output-len"} {
			s.refuse(a.has(name), "%s does not fit --backend %s, whose answers are numbers; drop it", name, a.text("--backend"))
		}
	}
	s.target()
	s.load()
	s.data()
	s.set("--request-template", s.template())
	s.output()
}

// target adds the model, the protocol and the server.
func (s *serving) target() {
	a := s.a
	model := a.text("--model")
	s.refuse(model == "", "no model; give its name with --model")
	if name := a.text("--served-model-name"); name != "" {
		model = name
	}
	s.set("-m", model)
	s.theirs = map[string]string{
		"--model":               "--served-model-name", // --model also names the tokenizer
		"--num-dataset-entries": "--num-prompts",       // which also is the number of requests
	}
	if a.has("--non-streaming") {
		s.advice = [][2]string{{"add --streaming", "drop --non-streaming"}}
	}
	s.flag("--async")
	s.set("--service-kind", kindOpenAI)
	s.set("-i", "http")
	endpoint := a.text("--endpoint")
	if s.chat {
		endpoint = "/v1/chat/completions"
	}
	suffix := "completions"
	if s.chat {
		suffix = "chat/completions"
	}
	if end, ok := numbersEndpoint(a.text("--backend")); ok {
		suffix = end
	}
	s.refuse(!strings.HasSuffix(endpoint, suffix), "--endpoint %s: must end in %s", clip(endpoint), suffix)
	s.set("--endpoint", strings.TrimPrefix(endpoint, "/"))
	url := a.text("--base-url")
	if url == "" {
		url = fmt.Sprintf("%s:%d", a.text("--host"), a.whole("--port"))
	}
	s.set("-u", url)
	if s.stream {
		s.flag("--streaming")
	}
	s.set("--connection-reuse", "fresh") // each request has a connection of its own
}

// load adds the load. Without a rate the script starts all requests at once;
// --max-concurrency limits the requests in flight.
func (s *serving) load() {
	a, n := s.a, s.a.whole("--num-prompts")
	most := a.whole("--max-concurrency")
	rate, burstiness := a.number("--request-rate"), a.number("--burstiness")
	s.refuse(math.IsNaN(rate) || rate <= 0, "--request-rate %s: must be positive", clip(a.text("--request-rate")))
	s.refuse(math.IsNaN(burstiness) || burstiness <= 0 || math.IsInf(burstiness, 0), "--burstiness %s: must be positive", clip(a.text("--burstiness")))
	switch {
	case math.IsInf(rate, 1) && most == 0:
		s.setWhole("--concurrency-range", n)
	case math.IsInf(rate, 1):
		s.setWhole("--concurrency-range", min(most, n)) // no more requests than that exist
	default:
		s.setNumber("--request-rate-range", rate)
		if burstiness == 1 {
			s.set("--request-distribution", "poisson")
		} else {
			s.set("--request-distribution", "gamma")
			s.setNumber("--burstiness", burstiness)
		}
		if most > 0 {
			s.setWhole("--max-concurrency", most)
		}
	}
	s.setWhole("--request-count", n)
	if !a.has("--no-test-input") {
		s.set("--warmup-request-count", "1")
	}
	s.set("--request-timeout", "6h")
	s.setWhole("--random-seed", a.whole("--seed"))
	s.hint("request_rate", py.Repr(rate))
	s.hint("burstiness", py.Repr(burstiness))
	s.hint("max_concurrency", noneIfEmpty(a.text("--max-concurrency")))
	s.hint("num_prompts", fmt.Sprint(n))
}

// noneIfEmpty returns Python's None for an absent value, as the script writes it.
func noneIfEmpty(s string) string {
	if s == "" {
		return "None"
	}
	return s
}

// data adds the source of the prompts.
func (s *serving) data() {
	a, name, file := s.a, s.a.text("--dataset-name"), s.a.text("--dataset-path")
	switch name {
	case "random":
		s.random()
	case "random_image":
		s.random()
		s.images()
	case "sharegpt":
		s.set("--dataset", "sharegpt")
		if file != "" {
			s.set("--input-data", file)
		}
		s.setWhole("--num-dataset-entries", a.whole("--num-prompts"))
		if a.has("--sharegpt-output-len") {
			s.set("--output-tokens-mean", a.text("--sharegpt-output-len"))
		}
	case "burstgpt", "trtllm_custom":
		s.refuse(file == "", "--dataset-name %s needs --dataset-path", name)
		s.set("--input-data", file)
		s.setWhole("--num-dataset-entries", a.whole("--num-prompts"))
	default:
		s.errorf("--dataset-name %s is not supported: write the prompts into a file for pa-record --input-data", name)
	}
	if a.has("--tokenizer") {
		s.tokenizer(a.text("--tokenizer"), true)
	} else {
		s.tokenizer(a.text("--model"), false)
		s.hint("tokenizer_id", a.text("--model"))
	}
}

// random adds synthetic prompts. Lengths are uniform over the integers from L(1-r) to
// L(1+r), both rounded down.
func (s *serving) random() {
	a, ratio := s.a, s.a.number("--random-range-ratio")
	if !(ratio >= 0 && ratio < 1) {
		s.errorf("--random-range-ratio %s: must be at least 0 and less than 1", clip(a.text("--random-range-ratio")))
		return
	}
	for _, l := range []struct{ option, mean, stddev, uniform string }{
		{"--random-input-len", "--synthetic-input-tokens-mean", "--synthetic-input-tokens-stddev", "--synthetic-input-tokens"},
		{"--random-output-len", "--output-tokens-mean", "--output-tokens-stddev", "--output-tokens"},
	} {
		if s.numbers && l.option == "--random-output-len" {
			continue
		}
		n := a.whole(l.option)
		if ratio == 0 {
			s.setWhole(l.mean, n)
			s.set(l.stddev, "0")
			continue
		}
		low, high := int(float64(n)*(1-ratio)), int(float64(n)*(1+ratio))
		s.set(l.uniform, fmt.Sprintf("uniform:%d,%d", low, high))
	}
	s.setWhole("--num-dataset-entries", a.whole("--num-prompts"))
	if n := a.whole("--random-prefix-len"); n > 0 {
		s.set("--num-prefix-prompts", "1")
		s.setWhole("--prefix-prompt-length", n)
	}
}

// images adds random images of independent pixels.
func (s *serving) images() {
	a := s.a
	width, height, side := a.whole("--random-image-width"), a.whole("--random-image-height"), a.whole("--random-image-size")
	const initial = 512
	if width == initial && height == initial {
		width, height = side, side
	}
	s.refuse(!s.chat, "--dataset-name random_image needs --backend openai-chat")
	s.refuse(a.has("--tokenize-on-client"), "--tokenize-on-client does not fit --dataset-name random_image: a chat with images holds text")
	n := a.whole("--random-num-images")
	if n == 0 {
		return
	}
	s.setWhole("--image-width-mean", width)
	s.setWhole("--image-height-mean", height)
	s.set("--image-format", "jpeg")
	s.set("--image-content", "noise")
	s.setWhole("--batch-size-image", n)
}

// template returns the request template.
func (s *serving) template() string {
	var r requestTemplate
	a := s.a
	r.set("model", placeholderModel)
	if s.numbers { // as vllm bench: no sampling, and texts that are too long are cut
		if a.text("--backend") == "vllm-rerank" {
			r.set("query", "{{query}}")
			r.set("documents", "{{documents}}")
		} else {
			r.set("input", placeholderPrompt)
		}
		r.set("truncate_prompt_tokens", -1)
		return r.String()
	}
	ids := a.has("--tokenize-on-client")
	if ids && a.text("--dataset-name") != "random" {
		ids = false // as the script: for random prompts only
	}
	switch {
	case s.chat && ids:
		r.set("messages", []message{})
	case s.chat && a.text("--dataset-name") == "random_image":
		r.set("messages", userMessage(placeholderContent))
	case s.chat:
		r.set("messages", userMessage([]textPart{{"text", placeholderPrompt}}))
	case ids:
		r.set("prompt", "{{input_ids}}")
	default:
		r.set("prompt", placeholderPrompt)
	}
	r.set("temperature", s.number("--temperature"))
	if s.chat {
		r.set("max_completion_tokens", placeholderMaxTokens)
	} else {
		r.set("repetition_penalty", pythonFloat(1))
		r.set("max_tokens", placeholderMaxTokens)
		var logprobs any
		if a.has("--logprobs") {
			logprobs = a.whole("--logprobs")
		}
		r.set("logprobs", logprobs)
	}
	r.set("stream", s.stream)
	if s.chat && ids {
		r.set("prompt_token_ids", "{{input_ids}}")
	}
	if s.stream {
		r.set("stream_options", map[string]bool{"include_usage": true})
	}
	if a.has("--ignore-eos") {
		r.set("ignore_eos", true)
	}
	if a.has("--top-p") {
		r.set("top_p", s.number("--top-p"))
	}
	if a.has("--top-k") {
		r.set("top_k", a.whole("--top-k"))
	}
	if a.has("--min-p") {
		r.set("min_p", s.number("--min-p"))
	}
	return r.String()
}

// A textPart is a part of a chat message.
type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// number returns the value of an option, 0.0 without one.
func (s *serving) number(name string) json.RawMessage {
	f := s.a.number(name)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		s.errorf("%s %s: expected a finite number", name, clip(s.a.text(name)))
		f = 0
	}
	return pythonFloat(f)
}

// pythonFloat writes a finite float as Python's json does.
func pythonFloat(f float64) json.RawMessage { return json.RawMessage(py.Repr(f)) }

// output adds the export, the hints, and the report that the script would write.
func (s *serving) output() {
	a := s.a
	folder, export, result := "", "profile_export.json", ""
	if a.has("--save-result") {
		name := a.text("--result-filename")
		if name == "" {
			name = s.resultName()
		}
		folder, export = a.text("--result-dir"), besideResult(name)
		result = path.Join(folder, name)
	}
	export = s.export(folder, export)
	if a.has("--disable-tqdm") {
		s.set("--ui", "none")
	}
	s.hint("dialect", "trtllm-1.0")
	s.hint("backend", a.text("--backend"))
	s.hint("streaming", map[bool]string{true: "True", false: "False"}[s.stream])
	s.hint("percentile_metrics", a.text("--percentile-metrics"))
	s.hint("metric_percentiles", a.text("--metric-percentiles"))
	s.hint("goodput", strings.Join(a.values("--goodput"), " "))
	s.hint("save_detailed", map[bool]string{true: "True", false: "False"}[a.has("--save-detailed")])
	s.hint("metadata", strings.Join(a.values("--metadata"), " "))
	s.hint("model_id", a.text("--model"))
	s.Reports = [][]string{{"report", export}}
	if result != "" {
		s.Reports = append(s.Reports, []string{"report", export, "--format", "json", "-o", result})
	}
}

// resultName returns the script's name of the result, without the date at its end.
func (s *serving) resultName() string {
	a := s.a
	name := fmt.Sprintf("%s-%sqps", a.text("--backend"), py.Repr(a.number("--request-rate")))
	if a.has("--max-concurrency") {
		name += "-concurrency" + a.text("--max-concurrency")
	}
	model := a.text("--model")
	return name + "-" + model[strings.LastIndexByte(model, '/')+1:] + ".json"
}
