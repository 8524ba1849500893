package openai

import "strings"

// Numbers returns what an endpoint, a path, answers with instead of text,
// "embeddings", "rankings" or "detections"; ok is false for all
// others. Such answers are one body
// each and hold no tokens: no server streams them.
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
	}
	return "", false
}
