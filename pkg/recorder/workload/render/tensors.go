package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A Style is a set of inputs by which a Triton model accepts prompts, or SGLang.
type Style uint8

// The styles, named as in --backend.
const (
	VLLM        Style = iota + 1 // the vLLM backend
	TensorRTLLM                  // ensemble and tensorrt_llm_bls of TensorRT-LLM
	Engine                       // tensorrt_llm of TensorRT-LLM, which takes token ids
	LLMAPI                       // the LLM API of TensorRT-LLM
	SGLang                       // no model of Triton: SGLang's server with its generate endpoint
	styles      = "vllm, tensorrtllm, tensorrtllm_engine or llmapi, or sglang"
)

var styleNames = [...]string{"", "vllm", "tensorrtllm", "tensorrtllm_engine", "llmapi", "sglang"}

// MarshalText implements encoding.TextMarshaler.
func (s Style) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns "vllm", "tensorrtllm", "tensorrtllm_engine", "llmapi" or "sglang".
func (s Style) String() string {
	if s > 0 && int(s) < len(styleNames) {
		return styleNames[s]
	}
	return fmt.Sprintf("Style(%d)", uint8(s))
}

// ParseStyle is the inverse of String. It also accepts trtllm.
func ParseStyle(name string) (Style, error) {
	if name == "trtllm" {
		return TensorRTLLM, nil
	}
	for s := VLLM; s <= SGLang; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("unknown backend %q; expected %s", name, styles)
}

// StyleOf returns the style of a model with these inputs.
func StyleOf(inputs []string) (Style, error) {
	has := map[string]bool{}
	for _, n := range inputs {
		has[n] = true
	}
	switch {
	case has["sampling_param_max_tokens"]:
		return LLMAPI, nil
	case has["input_ids"] && has["request_output_len"]:
		return Engine, nil
	case has["text_input"] && has["max_tokens"]:
		return TensorRTLLM, nil
	case has["text_input"]:
		return VLLM, nil
	}
	return 0, fmt.Errorf("the model takes no prompts: it has the inputs %s, none of them text_input or input_ids; give tensors", strings.Join(inputs, ", "))
}

// Tensors returns the inputs for p in the order of GenAI-Perf, each as a JSON array or as an
// object with a shape. With Options.Template the members of the template are the inputs, and
// s has no effect.
func Tensors(s Style, p *workload.Prompt, o Options) (export.Fields, error) {
	if o.Template != nil {
		return filledTensors(p, &o)
	}
	var t tensors
	text := ""
	if s != Engine {
		all, err := plainTexts(p)
		if err != nil {
			return nil, err
		}
		if len(all) > 1 {
			return nil, fmt.Errorf("%d texts in a prompt; a request to Triton holds one", len(all))
		}
		text = all[0]
	}
	var err error
	switch s {
	case VLLM:
		err = t.vllm(text, p, o)
	case TensorRTLLM:
		err = t.tensorRTLLM(text, p, o)
	case Engine:
		err = t.engine(p, o)
	case LLMAPI:
		err = t.llmAPI(text, p, o)
	default:
		err = fmt.Errorf("no style of prompts; expected %s", styles)
	}
	return t.f, err
}

// defaultOutput is the output length for models that require one, as in GenAI-Perf.
const defaultOutput = 256

// tensors collects inputs.
type tensors struct{ f export.Fields }

// raw adds an input with one element.
func (t *tensors) raw(name string, element []byte) {
	t.f = append(t.f, export.Field{Name: name, Value: export.Value{Data: append(append([]byte{'['}, element...), ']')}})
}

func (t *tensors) number(name string, n int) { t.raw(name, strconv.AppendInt(nil, int64(n), 10)) }

// exclude requests answers without the prompt.
func (t *tensors) exclude(name string, o Options) {
	if _, ok := o.has(name); ok {
		t.raw(name, []byte("true"))
	}
}

// rest adds the extra members that are inputs of the model and not yet in t.
func (t *tensors) rest(p *workload.Prompt, o Options) {
	for _, f := range p.Extra {
		if _, there := t.f.Get(f.Name); there || o.Has != nil && !o.Has(f.Name) {
			continue
		}
		t.raw(f.Name, f.Value.Data)
	}
}

// vllm writes
//
//	text_input, exclude_input_in_output, stream, sampling_parameters, image
//
// where sampling_parameters is a JSON object in a string: the output length and the extra
// members. An extra member return_NAME is an input of its own if the model has it.
func (t *tensors) vllm(text string, p *workload.Prompt, o Options) error {
	t.raw("text_input", quote(text))
	t.exclude("exclude_input_in_output", o)
	if o.Stream {
		t.raw("stream", []byte("true"))
	}
	var sampling object
	if p.MaxTokens > 0 {
		sampling.number("max_tokens", p.MaxTokens)
		if p.Exact {
			sampling.number("min_tokens", p.MaxTokens)
			sampling.flag("ignore_eos")
		}
	}
	vllmInputs := map[string]bool{"text_input": true, "stream": true, "sampling_parameters": true, "exclude_input_in_output": true}
	for _, f := range p.Extra {
		switch {
		case vllmInputs[f.Name] || f.Name == "model" || f.Name == "stream_options":
		case strings.HasPrefix(f.Name, "return_") && (o.Has == nil || o.Has(f.Name)):
			t.raw(f.Name, f.Value.Data)
		default:
			sampling.raw(f.Name, f.Value.Data)
		}
	}
	if sampling.b != nil {
		t.raw("sampling_parameters", quote(string(sampling.close())))
	}
	return t.pictures(p)
}

// pictures adds the contents of the images as the input image.
func (t *tensors) pictures(p *workload.Prompt) error {
	var all []string
	for _, m := range p.Media {
		_, content, ok := strings.Cut(m.URL, ";base64,")
		if m.Kind != workload.Image || !ok {
			return fmt.Errorf("models of Triton take the contents of images, no %v by its URL", m.Kind)
		}
		if _, err := base64.StdEncoding.DecodeString(content); err != nil {
			return fmt.Errorf("an image in a data: URL: %w", err)
		}
		all = append(all, content)
	}
	if all != nil {
		t.f = append(t.f, export.Field{Name: "image", Value: export.Value{Data: quoteAll(all)}})
	}
	return nil
}

// tensorRTLLM writes
//
//	text_input, max_tokens, exclude_input_in_output, stream, min_tokens
//
// where min_tokens is min_length in older releases.
func (t *tensors) tensorRTLLM(text string, p *workload.Prompt, o Options) error {
	if err := noMedia(p, "models of TensorRT-LLM"); err != nil {
		return err
	}
	t.raw("text_input", quote(text))
	t.outputLength("max_tokens", p)
	t.exclude("exclude_input_in_output", o)
	if o.Stream {
		t.raw("stream", []byte("true"))
	}
	t.exact(p, o)
	t.rest(p, o)
	return nil
}

// outputLength adds the output length, which the model requires.
func (t *tensors) outputLength(name string, p *workload.Prompt) {
	n := p.MaxTokens
	if n == 0 {
		n = defaultOutput
	}
	t.number(name, n)
}

// exact requests a minimum length. If the inputs of the model are unknown, it uses
// GenAI-Perf's min_length.
func (t *tensors) exact(p *workload.Prompt, o Options) {
	if !p.Exact || p.MaxTokens == 0 {
		return
	}
	if name, ok := o.has("min_length", "min_tokens"); ok {
		t.number(name, p.MaxTokens)
	}
}

// engine writes
//
//	input_ids, input_lengths, request_output_len, streaming, min_length
func (t *tensors) engine(p *workload.Prompt, o Options) error {
	if err := noMedia(p, "models of TensorRT-LLM"); err != nil {
		return err
	}
	ids, err := idsOf(p, &o)
	if err != nil {
		return err
	}
	list := []byte(`{"content":[`)
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendUint(list, uint64(id), 10)
	}
	list = fmt.Appendf(list, `],"shape":[%d]}`, len(ids))
	t.f = append(t.f, export.Field{Name: "input_ids", Value: export.Value{Data: list}})
	t.number("input_lengths", len(ids))
	t.outputLength("request_output_len", p)
	if o.Stream {
		t.raw("streaming", []byte("true"))
	}
	t.exact(p, o)
	t.rest(p, o)
	return nil
}

// idsOf returns the token ids of p.
func idsOf(p *workload.Prompt, o *Options) ([]uint32, error) {
	if p.IDs != nil {
		return p.IDs, nil
	}
	all, err := plainTexts(p)
	if err != nil {
		return nil, err
	}
	text := strings.Join(all, " ")
	if text == "" {
		return nil, errors.New("an empty prompt has no token ids")
	}
	if o.Encode != nil {
		if ids := o.Encode(text); len(ids) > 0 {
			return ids, nil
		}
	}
	return nil, errors.New("the model takes token ids; give the model's --tokenizer")
}

// llmAPI writes
//
//	text_input, sampling_param_exclude_input_from_output, streaming, sampling_param_max_tokens
//
// and extra members with the prefix sampling_param_.
func (t *tensors) llmAPI(text string, p *workload.Prompt, o Options) error {
	if err := noMedia(p, "models of TensorRT-LLM's LLM API"); err != nil {
		return err
	}
	t.raw("text_input", quote(text))
	t.exclude("sampling_param_exclude_input_from_output", o)
	if o.Stream {
		t.raw("streaming", []byte("true"))
	}
	if p.MaxTokens > 0 {
		t.number("sampling_param_max_tokens", p.MaxTokens)
	}
	if p.Exact {
		return errors.New("the LLM API of TensorRT-LLM has no input for an exact output length; drop the option that asks for it")
	}
	for _, f := range p.Extra {
		name := "sampling_param_" + f.Name
		if o.Has == nil || o.Has(name) {
			t.raw(name, f.Value.Data)
		}
	}
	return nil
}
