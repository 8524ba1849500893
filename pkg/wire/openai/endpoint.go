package openai

import "strings"

// Numbers returns the kind of answer of an endpoint, a path, that answers without text:
// "embeddings", "rankings", "scores", "classes", "pooled values" or "detections". ok is false for all other endpoints. Such an
// answer is one body without tokens, which no server streams.
func Numbers(endpoint string) (what string, ok bool) {
	path, _, _ := strings.Cut(endpoint, "?")
	path = strings.Trim(path, "/")
	if path == "v1/infer" || strings.HasSuffix(path, "/v1/infer") {
		return "detections", true
	}
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "embeddings":
		return "embeddings", true
	case "ranking", "rerank":
		return "rankings", true
	case "score":
		return "scores", true
	case "classify":
		return "classes", true
	case "pooling":
		return "pooled values", true
	}
	return "", false
}
