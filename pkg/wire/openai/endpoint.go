package openai

import "strings"

// Numbers returns the kind of answer of an endpoint, a path, that answers without text:
// "embeddings", "rankings", "detections" or "audio answers". ok is false for all other endpoints. Such an
// answer has no tokens. Only audio is streamed.
func Numbers(endpoint string) (what string, ok bool) {
	path := trimPath(endpoint)
	if path == "v1/infer" || strings.HasSuffix(path, "/v1/infer") {
		return "detections", true
	}
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "embeddings":
		return "embeddings", true
	case "ranking", "rerank":
		return "rankings", true
	case "speech":
		return "audio answers", true
	}
	return "", false
}

// trimPath returns an endpoint without its query and outer slashes.
func trimPath(endpoint string) string {
	path, _, _ := strings.Cut(endpoint, "?")
	return strings.Trim(path, "/")
}
