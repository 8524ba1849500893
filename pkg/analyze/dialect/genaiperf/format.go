package genaiperf

import "strings"

// A format is what kind of answer an OpenAI server gives.
type format uint8

const (
	formatUnknown format = iota
	formatChat
	formatCompletions
	formatEmbeddings
	formatMultimodal
	formatRankings
	formatImages
	formatGenerate
	formatHuggingFace
)

// endpointTypes are GenAI-Perf's names of what has that format; that of
// multimodal ones differs.
var endpointTypes = [...]string{
	formatUnknown:     "",
	formatChat:        "chat",
	formatCompletions: "completions",
	formatEmbeddings:  "embeddings",
	formatRankings:    "rankings",
	formatImages:      "image_retrieval",
	formatGenerate:    "generate",
	formatHuggingFace: "huggingface_generate",
}

// endpointType returns the release's name of what has that format.
func (r *rules) endpointType(f format) string {
	if f == formatMultimodal {
		return r.multimodal
	}
	return endpointTypes[f]
}

// formatOf returns the format of an endpoint type of any release.
func formatOf(endpointType string) format {
	switch endpointType {
	case "vision", "multimodal":
		return formatMultimodal
	case "nvclip":
		return formatEmbeddings
	}
	for f, name := range endpointTypes {
		if name == endpointType {
			return format(f)
		}
	}
	return formatUnknown
}

// A formatRule says that something with this text in it has that format.
type formatRule struct {
	text   string
	format format
}

// formatRules are asked in the order of their fields; the first rule that fits
// counts.
type formatRules struct {
	endpoints []formatRule // the endpoint is that
	patterns  []formatRule // the endpoint contains that
	sniffs    []formatRule // the first response contains that
	late      []formatRule // the endpoint contains that
	// multimodal are what of a chat's first request makes it multimodal.
	multimodal []string
}

// find returns the format of an export; ok is false when no rule fits, or
// those of the first response are to be asked and there is none (sniffed).
func (r *formatRules) find(endpoint, payload, response string, hasResponse bool) (f format, ok, sniffed bool) {
	for _, rule := range r.endpoints {
		if endpoint == rule.text {
			return r.seeing(rule.format, payload), true, false
		}
	}
	for _, rule := range r.patterns {
		where := endpoint
		if rule.format == formatHuggingFace { // only here case does not matter
			where = strings.ToLower(where)
		}
		if strings.Contains(where, rule.text) {
			return rule.format, true, false
		}
	}
	if !hasResponse {
		return formatUnknown, false, true
	}
	for _, rule := range r.sniffs {
		if strings.Contains(response, rule.text) {
			return r.seeing(rule.format, payload), true, true
		}
	}
	for _, rule := range r.late {
		if strings.Contains(endpoint, rule.text) {
			return rule.format, true, true
		}
	}
	return formatUnknown, false, true
}

func (r *formatRules) seeing(f format, payload string) format {
	if f == formatChat {
		for _, m := range r.multimodal {
			if strings.Contains(payload, m) {
				return formatMultimodal
			}
		}
	}
	return f
}

// anyFormat are rules that know every format, for exports that a release would
// not have recognized.
var anyFormat = formatRules{
	endpoints: []formatRule{
		{"rerank", formatRankings},
		{"v1/ranking", formatRankings},
		{"v1/chat/completions", formatChat},
		{"v1/completions", formatCompletions},
		{"v1/embeddings", formatEmbeddings},
		{"v1/infer", formatImages},
	},
	patterns: []formatRule{{"huggingface/generate", formatHuggingFace}},
	sniffs: []formatRule{
		{"chat.completion", formatChat},
		{"text_completion", formatCompletions},
		{`"embedding`, formatEmbeddings},
		{"ranking", formatRankings},
		{"generated_text", formatHuggingFace},
		{"text_output", formatGenerate},
	},
	late:       []formatRule{{"generate", formatGenerate}, {"chat/completions", formatChat}, {"completions", formatCompletions}},
	multimodal: []string{"image_url", "input_audio"},
}

// guessByPayload returns the format of a request's body.
func guessByPayload(payload string) format {
	for _, rule := range []formatRule{
		{`"messages"`, formatChat},
		{`"prompt"`, formatCompletions},
		{`"text_input"`, formatGenerate},
		{`"inputs"`, formatHuggingFace},
		{`"passages"`, formatRankings},
		{`"texts"`, formatRankings},
		{`"image_url"`, formatImages},
		{`"input"`, formatEmbeddings},
	} {
		if strings.Contains(payload, rule.text) {
			return anyFormat.seeing(rule.format, payload)
		}
	}
	return formatUnknown
}
