package frontend

import (
	"fmt"
	"slices"
)

// buildRequest sets the members of the request template.
func (l *latest) buildRequest() {
	extras := l.extras(parseExtras)
	r := &l.request
	// A trace may hold the output length, too.
	length := l.limitsOutput() || l.payload != ""
	openAI := func() {
		if l.stream {
			r.set("stream", true)
		}
		if length {
			r.set("max_tokens", placeholderMaxTokens)
		}
	}
	switch l.endpoint.name {
	case "chat":
		r.set("model", placeholderModel)
		r.set("messages", placeholderMessages)
		openAI()
	case "multimodal", "vision":
		r.set("model", placeholderModel)
		r.set("messages", userMessage(placeholderContent))
		openAI()
	case "completions":
		r.set("model", placeholderModel)
		r.set("prompt", placeholderTexts)
		openAI()
	case "embeddings":
		r.set("model", placeholderModel)
		r.set("input", placeholderTexts)
	case "nvclip":
		r.set("model", placeholderModel)
		r.set("input", placeholderInputs)
	case "image_retrieval":
		r.set("input", placeholderPictures)
	case "rankings":
		extras = l.rankings(extras)
	case "generate":
		r.set("text_input", placeholderTexts)
		openAI()
	case "huggingface_generate":
		r.set("model", placeholderModel)
		r.set("inputs", placeholderMarkdown)
		if length {
			r.set("parameters", map[string]string{"max_new_tokens": placeholderMaxTokens})
		}
	case "kserve":
		l.triton(length)
	case "tensorrtllm_engine":
		extras = l.engine(length, extras)
	}
	for _, e := range extras {
		if l.kind == kindTriton {
			e.value = array(e.value)
		}
		r.set(e.name, e.value)
	}
}

// rankings sets the members of NVIDIA's ranking API, or of Hugging Face's with
// --extra-inputs rankings:tei. It returns the other extras.
func (l *latest) rankings(extras []extra) []extra {
	r := &l.request
	isTEI := func(e extra) bool { return e.name == "rankings" && string(e.value) == `"tei"` }
	if slices.ContainsFunc(extras, isTEI) {
		r.set("query", placeholderQuery)
		r.set("texts", placeholderDocuments)
		return slices.DeleteFunc(extras, isTEI)
	}
	r.set("query", map[string]string{"text": placeholderQuery})
	r.set("passages", placeholderPassages)
	r.set("model", placeholderModel)
	return extras
}

// engine sets the tensors of --endpoint-type tensorrtllm_engine. It reports the extras
// that only GenAI-Perf can handle.
func (l *latest) engine(length bool, extras []extra) []extra {
	r := &l.request
	r.set("input_ids", map[string]any{"content": placeholderInputIDs, "shape": []string{placeholderInputLength}})
	r.set("input_lengths", []string{placeholderInputLength})
	if length {
		r.set("request_output_len", []string{fmt.Sprintf("{{max_tokens|%d}}", trtllmMaxTokens)})
	} else {
		r.set("request_output_len", []int{trtllmMaxTokens})
	}
	if l.stream {
		r.set("streaming", []bool{true})
	}
	if length && l.a.has("--output-tokens-mean-deterministic") {
		r.set("min_length", []string{placeholderMaxTokens})
	}
	for _, e := range extras {
		switch e.name {
		case "set_end_id":
			l.errorf("--extra-inputs set_end_id is not supported: give the number, as --extra-inputs end_id:N")
		case "apply_chat_template":
			l.errorf("--extra-inputs apply_chat_template is not supported: chat templates are applied by servers; ask a chat endpoint")
		}
	}
	return extras
}

// triton sets the tensors of --endpoint-type kserve.
func (l *latest) triton(length bool) {
	r, exact := &l.request, l.a.has("--output-tokens-mean-deterministic")
	r.set("text_input", []string{placeholderPrompt})
	vllm := l.a.text("--backend") == "vllm"
	switch {
	case vllm:
	case length:
		r.set("max_tokens", []string{fmt.Sprintf("{{max_tokens|%d}}", trtllmMaxTokens)})
	default:
		r.set("max_tokens", []int{trtllmMaxTokens})
	}
	r.set("exclude_input_in_output", []bool{true})
	if l.stream {
		r.set("stream", []bool{true})
	}
	switch {
	case !length:
	case vllm:
		r.set("sampling_parameters", []string{samplingParameters(exact, ",", ":")})
	case exact:
		r.set("min_length", []string{placeholderMaxTokens})
	}
}
