package openai

import "strings"

// ImageAnswers is the kind of answer that [Numbers] returns for endpoints that make images.
const ImageAnswers = "images"

// Numbers returns the kind of answer of an endpoint, a path, that answers without text:
// "embeddings", "rankings", "scores", "classes", "pooled values", "detections", "audio answers" or ImageAnswers. ok is false for all
// other endpoints. Such an answer holds no tokens. Only images and audio are streamed.
func Numbers(endpoint string) (what string, ok bool) {
	path := trimPath(endpoint)
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
