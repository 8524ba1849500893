package render

import (
	"encoding/json"
	"slices"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// samplingMembers are members of a chat or completion that vLLM's and SGLang's generate have in sampling_params.
var samplingMembers = []string{
	"frequency_penalty", "ignore_eos", "json_schema", "logprobs", "min_p", "min_tokens", "n", "presence_penalty", "regex",
	"repetition_penalty", "seed", "skip_special_tokens", "stop", "stop_token_ids", "temperature", "top_k", "top_p",
}

// generateIDs writes a request to vLLM's inference/v1/generate:
//
//	{"model": M, "token_ids": […], "stream": true, "stream_options": {…}, "sampling_params": {"max_tokens": N, "min_tokens": N, "ignore_eos": true}}
func (b *object) generateIDs(p *workload.Prompt, o Options) error {
	b.model(o)
	if err := b.ids("token_ids", p, o); err != nil {
		return err
	}
	b.stream(o)
	return b.sampling(p, "max_tokens", "min_tokens")
}

// sglang writes a request to SGLang's generate. It holds ids if the prompt does, or Options.IDs asks for them:
//
//	{"text": "…", "stream": true, "sampling_params": {"max_new_tokens": N, "min_new_tokens": N, "ignore_eos": true}}
//	{"input_ids": […], …}
func (b *object) sglang(p *workload.Prompt, o Options) error {
	b.model(o)
	if holdsIDs(p, o) {
		if err := b.ids("input_ids", p, o); err != nil {
			return err
		}
	} else {
		if err := noMedia(p, "SGLang's generate endpoint"); err != nil {
			return err
		}
		all, err := plainTexts(p)
		if err != nil {
			return err
		}
		b.texts("text", all, false)
	}
	if o.Stream {
		b.flag("stream")
	}
	return b.sampling(p, "max_new_tokens", "min_new_tokens")
}

// holdsIDs reports whether a request holds the prompt as token ids, where it can hold a text too.
func holdsIDs(p *workload.Prompt, o Options) bool {
	return o.IDs || p.Messages == nil && p.Text == "" && p.IDs != nil
}

// ids writes the token ids of the prompt.
func (b *object) ids(name string, p *workload.Prompt, o Options) error {
	if err := noMedia(p, "prompts of token ids"); err != nil {
		return err
	}
	ids, err := idsOf(p, &o)
	if err != nil {
		return err
	}
	js, err := json.Marshal(ids)
	b.raw(name, js)
	return err
}

// sampling writes sampling_params: the length of the answer, and the members of the prompt that belong there. The prompt's own
// sampling_params come last.
func (b *object) sampling(p *workload.Prompt, most, least string) error {
	var params object
	if p.MaxTokens > 0 {
		params.number(most, p.MaxTokens)
		if p.Exact {
			params.number(least, p.MaxTokens)
			params.flag("ignore_eos")
		}
	}
	var own export.Fields
	for _, m := range p.Extra {
		if slices.Contains(samplingMembers, m.Name) {
			own = append(own, m)
		}
	}
	js := params.close()
	var err error
	if len(own) > 0 {
		if js, err = openai.MergeRequest(js, fields(own)); err != nil {
			return err
		}
	}
	if given, ok := p.Extra.Get("sampling_params"); ok {
		if js, err = openai.MergeRequest(js, given.Data); err != nil {
			return err
		}
	}
	b.raw("sampling_params", js) // also an empty one: vLLM requires it
	return nil
}

// outsideSampling returns the members of a prompt that do not belong into sampling_params.
func outsideSampling(extra export.Fields) export.Fields {
	return slices.DeleteFunc(slices.Clone(extra), func(m export.Field) bool {
		return m.Name == "sampling_params" || slices.Contains(samplingMembers, m.Name)
	})
}
