package openai

import "strings"

// ImageAnswers is the kind of answer that [Numbers] returns for endpoints that make images.
const ImageAnswers = "images"

// Numbers returns the kind of answer of an endpoint, a path, that answers without text:
// "embeddings", "rankings", "scores", "classes", "pooled values", "detections" or ImageAnswers. ok is false for all other endpoints. Such
// an answer holds no tokens. It is one body, which no server streams, except for images.
func Numbers(endpoint string) (what string, ok bool) {
	path, _, _ := strings.Cut(endpoint, "?")
	path = strings.Trim(path, "/")
	if path == "v1/infer" || strings.HasSuffix(path, "/v1/infer") {
		return "detections", true
	}
	if strings.HasSuffix(path, "images/generations") {
		return ImageAnswers, true
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
