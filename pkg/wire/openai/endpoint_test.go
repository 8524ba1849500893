package openai

import "testing"

func TestNumbers(t *testing.T) {
	for endpoint, want := range map[string]string{
		"v1/embeddings": "embeddings", "/v1/embeddings/?key=x": "embeddings", "openai/v1/embeddings": "embeddings",
		"v1/ranking": "rankings", "rerank": "rankings", "v2/rerank": "rankings",
		"v1/infer": "detections", "/nim/v1/infer?x=y": "detections", "v2/models/m/infer": "",
		"pooling": "pooled values", "classify": "classes", "score": "scores", "v1/score": "scores", "v1/images/generations": ImageAnswers, "v1/images/edits": "",
		"v1/chat/completions": "", "": "", "v1/reranker": "", "embeddings/v1": "",
	} {
		if got, ok := Numbers(endpoint); got != want || ok != (want != "") {
			t.Errorf("Numbers(%q) = %q, %v, want %q", endpoint, got, ok, want)
		}
	}
}
