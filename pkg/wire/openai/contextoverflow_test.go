package openai

import "testing"

func TestIsContextOverflow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   bool
	}{
		{"OpenAI's code", 400, `{"error":{"message":"Your input is too much.","type":"invalid_request_error","code":"context_length_exceeded"}}`, true},
		{"vLLM", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}}`, true},
		{"vLLM before 0.9", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.","type":"BadRequestError","code":400}`, true},
		{"vLLM's engine", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that it fits."}}`, true},
		{"SGLang", 400, `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","code":400}`, true},
		{"SGLang, with the answer", 400, `{"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens."}`, true},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`, true},
		{"llama.cpp's type", 400, `{"error":{"code":400,"message":"no","type":"exceed_context_size_error"}}`, true},
		{"llama.cpp's text", 400, `{"error":{"code":400,"message":"request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"invalid_request_error"}}`, true},
		{"TensorRT-LLM", 400, `{"object":"error","message":"The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)","type":"BadRequestError","code":400}`, true},
		{"TensorRT-LLM's executor", 400, `{"object":"error","message":"Prompt length (200) exceeds maximum input length (100). Set log level to info","code":400}`, true},
		{"TensorRT-LLM, no token left", 400, `{"message":"default_max_tokens (-3) must be greater than 0, default_max_tokens (-3) = max_seq_len (10) - prompt (13)"}`, true},
		{"TGI", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens and 20 `max_new_tokens`\",\"error_type\":\"validation\"}", true},
		{"a gateway", 413, `{"detail":"prompt is too long: 210000 tokens > 200000 maximum"}`, true},
		{"plain text", 400, "input length exceeds the context length\n", true},
		{"an event in spite of the status", 400, "data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"x\"}}\n\n", true},

		{"another member", 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}`, false},
		{"the answer's length alone", 400, `{"error":{"message":"max_tokens is too large: 300000. This model supports at most 16384 completion tokens.","code":"invalid_value"}}`, false},
		{"the size of a body", 413, "<html><title>413 Request Entity Too Large</title></html>", false},
		{"a rate limit", 429, `{"error":{"message":"This model's maximum context length is 4096 tokens","code":"context_length_exceeded"}}`, false},
		{"a broken server", 500, `{"error":{"message":"maximum context length"}}`, false},
		{"nothing", 400, "", false},
	} {
		if got := IsContextOverflow(tt.status, []byte(tt.body)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
