package genaiperf

import "strings"

// A format is the kind of answer that an OpenAI server gives.
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

// endpointTypes holds GenAI-Perf's endpoint type of each format. The type of multimodal
// endpoints depends on the release.
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

// endpointType returns the release's endpoint type of a format.
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

// A formatRule assigns a format to an endpoint or a response with the text.
type formatRule struct {
	text   string
	format format
}

// formatRules holds rules in the order in which they are tried; the first match counts.
type formatRules struct {
	endpoints []formatRule // the endpoint is the text
	patterns  []formatRule // the endpoint contains the text
	sniffs    []formatRule // the first response contains the text
	late      []formatRule // the endpoint contains the text
	// multimodal lists the texts in a chat's first request that make it multimodal.
	multimodal []string
}

// find returns the format of an export. sniffed reports that the rules of the first
// response were needed; ok is false if no rule matches or there is no first response.
func (r *formatRules) find(endpoint, payload, response string, hasResponse bool) (f format, ok, sniffed bool) {
	for _, rule := range r.endpoints {
		if endpoint == rule.text {
			return r.orMultimodal(rule.format, payload), true, false
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
			return r.orMultimodal(rule.format, payload), true, true
		}
	}
	for _, rule := range r.late {
		if strings.Contains(endpoint, rule.text) {
			return rule.format, true, true
		}
	}
	return formatUnknown, false, true
}

// orMultimodal returns f, or the multimodal format if f is a chat whose payload has images
// or audio.
func (r *formatRules) orMultimodal(f format, payload string) format {
	if f == formatChat {
		for _, m := range r.multimodal {
			if strings.Contains(payload, m) {
				return formatMultimodal
			}
		}
	}
	return f
}

// anyFormat holds rules that know every format, for exports that a release would not have
// recognized.
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
			return anyFormat.orMultimodal(rule.format, payload)
		}
	}
	return formatUnknown
}
