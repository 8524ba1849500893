package frontend

import "fmt"

// genaiPerf2403 returns GenAI-Perf 0.0.1, of the 24.03 release. Defaults come from
// its code, not its help: the default of -p is 10000 ms, where the help says 5000.
func genaiPerf2403() *release {
	return &release{
		name: "24.03",
		options: options{
			optModel, optURL,
			{names: []string{"--service-kind"}, arg: "KIND", choices: []string{kindTriton, kindOpenAI}, defaultValue: kindTriton, group: "Endpoint", usage: "the kind of server", support: same},
			{names: []string{"--endpoint"}, arg: "PATH", group: "Endpoint", usage: "the path to ask, of OpenAI-compatible servers", support: same},
			{names: []string{"--output-format"}, arg: "FORMAT", choices: []string{"openai_chat_completions", "openai_completions", "trtllm", "vllm"}, defaultValue: "trtllm", group: "Endpoint", usage: "the form of the requests", support: body},
			optStreaming,
			{names: []string{"--input-type"}, arg: "TYPE", choices: []string{"url", "file", "synthetic"}, defaultValue: "synthetic", group: "Input", usage: "where prompts come from; file was never supported", support: alias, note: "url is --dataset; file is an error, there as here"},
			{names: []string{"--dataset"}, arg: "NAME", choices: []string{"openorca", "cnn_dailymail"}, defaultValue: "openorca", group: "Input", usage: "with --input-type url, the data set", support: same},
			{names: []string{"--input-tokens-mean"}, arg: "N", kind: positive, defaultValue: "550", group: "Input", usage: "mean length of synthetic prompts", support: alias, note: "--synthetic-input-tokens-mean"},
			{names: []string{"--input-tokens-stddev"}, arg: "N", kind: natural, defaultValue: "0", group: "Input", usage: "its standard deviation", support: alias, note: "--synthetic-input-tokens-stddev"},
			{names: []string{"--expected-output-tokens", "--synthetic-requested-output-tokens"}, arg: "N", kind: positive, defaultValue: "150", group: "Input", usage: "length of the answers that prompts ask for, in words", support: body, note: "a sentence in front of each prompt; the second name is in the README only"},
			{names: []string{"--num-of-output-prompts"}, arg: "N", kind: positive, defaultValue: "100", group: "Input", usage: "number of different synthetic prompts", support: alias, note: "--num-dataset-entries"},
			optSeed,
			{names: []string{"--input-data"}, arg: "FILE", defaultValue: "llm_inputs.json", group: "Input", usage: "send the requests of this file; by default synthetic requests", support: same},
			optConcurrency, optRate,
			{names: []string{"-p", "--measurement-interval"}, arg: "MS", kind: positive, defaultValue: "10000", group: "Profiling", usage: "length of a window", support: same},
			{names: []string{"-s", "--stability-percentage"}, arg: "PCT", kind: natural, defaultValue: "999", group: "Profiling", usage: "by how much the last three windows may differ", support: same},
			optExport,
			{names: []string{"-v", "--verbose"}, group: "Other", usage: "print each window", support: same, note: "the second name is in the README only"},
			optVersion,
		},
		translate: func(b *builder, a *arguments) {
			g := &genaiPerf{builder: b, a: a, release: "24.03", kind: a.text("--service-kind"), stream: a.has("--streaming")}
			g.translate2403()
		},
	}
}

func (g *genaiPerf) translate2403() {
	a, format := g.a, g.a.text("--output-format")
	g.refuse(!a.has("--model"), "no model; give its name with -m")
	openai := format == "openai_chat_completions" || format == "openai_completions"
	g.refuse(openai != (g.kind == kindOpenAI), "--output-format %s does not fit --service-kind %s", format, g.kind)
	g.target(a.text("--model"))
	if a.has("--endpoint") {
		g.set("--endpoint", a.text("--endpoint"))
	}
	g.url()
	if format == "trtllm" {
		g.trtllmShapes("--output-format")
	}
	g.load("")
	g.windows()
	if a.has("--verbose") {
		g.flag("-v")
	}
	if a.has("--input-data") {
		g.set("--input-data", a.text("--input-data"))
	} else {
		g.inputs2403(format)
	}
	g.output("", a.text("--profile-export-file"))
	if g.kind == kindTriton {
		g.hint("backend", map[string]string{"trtllm": "tensorrtllm", "vllm": "vllm"}[format])
	}
	g.hint("default_tokenizer", gpt2Tokenizer) // this tokenizer counts, even if another one makes the prompts
}

// inputs2403 adds the prompts and the request template.
func (g *genaiPerf) inputs2403(format string) {
	a, prompt, messages := g.a, placeholderPrompt, any(placeholderMessages)
	switch a.text("--input-type") {
	case "file":
		g.errorf("--input-type file is not supported, as in 24.03 itself; give --input-data FILE")
	case "url":
		g.set("--dataset", a.text("--dataset"))
		g.setWhole("--num-dataset-entries", 100) // --num-of-output-prompts is of synthetic ones
	default:
		g.synthetic("--input-tokens-mean", a.whole("--input-tokens-mean"), a.whole("--input-tokens-stddev"), a.whole("--num-of-output-prompts"))
		g.setWhole("--random-seed", a.whole("--random-seed"))
		g.set("--default-tokenizer", llamaTokenizer)
		prompt = askFor(a.whole("--expected-output-tokens")) + placeholderPrompt
		messages = userMessage(prompt)
	}
	r := &g.request
	switch format {
	case "openai_chat_completions":
		r.set("messages", messages)
		r.set("model", placeholderModel)
		if g.stream {
			r.set("stream", true)
		}
	case "openai_completions":
		r.set("prompt", []string{prompt})
		r.set("model", placeholderModel)
		if g.stream {
			r.set("stream", true)
		}
	case "trtllm":
		r.set("text_input", []string{prompt})
		r.set("max_tokens", []int{trtllmMaxTokens})
		if g.stream {
			r.set("stream", []bool{true})
		}
	case "vllm":
		r.set("text_input", []string{prompt})
		if g.stream {
			r.set("stream", []bool{true})
		}
	}
	g.addTemplate()
}

// askFor returns a sentence that asks for an answer of about this many tokens.
func askFor(tokens int) string {
	return fmt.Sprintf("Answer in about %d tokens. Go on from these lines:\n\n", tokens)
}

// A message is a message of a chat.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// userMessage returns a chat with a single message.
func userMessage(content any) []message { return []message{{"user", content}} }
