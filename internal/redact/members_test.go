package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestCredential(t *testing.T) {
	for _, name := range []string{
		"key", "api_key", "api-key", "API_KEY", "apiKey", "APIKey", "apikey", "ApiKey", "X-Api-Key", "x_api_key", "openai_api_key", "openaiApiKey", "azure_key",
		"token", "access_token", "accessToken", "accesstoken", "auth_token", "hf_token", "HF_TOKEN", "id_token", "refresh-token", "session_token", "bearerToken",
		"auth", "basic_auth", "authorization", "Authorization", "proxy-authorization", "auth_header",
		"secret", "client_secret", "clientSecret", "clientsecret", "secret_key", "aws_secret_access_key", "aws_access_key_id", "secrets",
		"password", "PASSWORD", "db_password", "passwd", "passphrase", "credential", "credentials", "api_keys", "api_tokens", "hf_key", "access_tokens", "Ocp-Apim-Subscription-Key", "private_key",
	} {
		if !Credential(name) {
			t.Errorf("%s is a credential", name)
		}
	}
	for _, name := range []string{
		"", "_", "max_tokens", "min_tokens", "max_completion_tokens", "maxTokens", "max_new_tokens", "tokens", "num_tokens", "tokenizer", "tokenizer_mode", "token_ids",
		"tokenIds", "stop_token_ids", "eos_token", "eos_token_id", "bos_token", "pad_token", "unk_token", "allowed_token_ids", "bad_words_token_ids", "return_token_ids",
		"return_tokens_as_token_ids", "skip_special_tokens", "add_special_tokens", "thinking_token_budget", "token_count", "token_type_ids", "max_token", "last_token",
		"time_per_output_token", "ignore_eos", "key_value", "keyValue", "keys", "keyword", "keywords", "key_frames", "kv_cache_key", "prompt_cache_key", "cache_key", "cache_salt",
		"sort_key", "primary_key", "monkey", "turkey", "keyboard", "keep_alive", "author", "authors", "authority", "authored_by", "auth_method", "secretary", "passage", "passages",
		"bypass", "compass", "model", "prompt", "top_k", "top_logprobs", "logit_bias", "sim_fault", "user", "seed", "stream_options", "include_usage",
		"chat_template_kwargs", "response_format", "guided_json", "nvext", "detokenize", "truncate_prompt_tokens", "tokenized",
	} {
		if Credential(name) {
			t.Errorf("%s is no credential", name)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, tt := range []struct{ name, in, want, names string }{
		{"plain", `{"max_tokens": 5, "tokenizer":"x"}`, `{"max_tokens": 5, "tokenizer":"x"}`, ""},
		{"a member", `{"api_key": "s3cr3t", "a":1}`, `{"api_key": "[redacted]", "a":1}`, "api_key"},
		{"deep", `{"a":[{"b":{"Client-Secret":"s3cr3t"}}],"c":2}`, `{"a":[{"b":{"Client-Secret":"[redacted]"}}],"c":2}`, "Client-Secret"},
		{"a number", `{"password":3133731337}`, `{"password":"[redacted]"}`, "password"},
		{"no values", `{"token":true,"key":null,"auth":""}`, `{"token":true,"key":null,"auth":""}`, ""},
		{"an object and an array", `{"auth":{"user":"s3cr3t","x":["}"]},"keys":[1],"secret":["s3cr3t]","s3cr3t"]}`, `{"auth":"[redacted]","keys":[1],"secret":"[redacted]"}`, "auth,secret"},
		{"quotes within", `{"api_key":"s3\"cr3t","b":"c"}`, `{"api_key":"[redacted]","b":"c"}`, "api_key"},
		{"an escaped name", `{"api\u005fkey":"s3cr3t"}`, `{"api\u005fkey":"[redacted]"}`, "api_key"},
		{"JSON in a string", `{"inputs":"{\"api_key\":\"s3cr3t\",\"n\":1}"}`, `{"inputs":"{\"api_key\":\"[redacted]\",\"n\":1}"}`, "api_key"},
		{"a value like a name", `{"type":"api_key","role":"token"}`, `{"type":"api_key","role":"token"}`, ""},
		{"a template", `{"prompt":{{prompt}},"key":"s3cr3t"}`, `{"prompt":{{prompt}},"key":"[redacted]"}`, "key"},
		{"twice", `[{"key":"s3cr3t"},{"key":"s3cr3t"}]`, `[{"key":"[redacted]"},{"key":"[redacted]"}]`, "key"},
		{"not closed", `{"api_key":"s3cr3t`, `{"api_key":"[redacted]"`, "api_key"},
		{"not closed, an object", `{"auth":{"a":"s3cr3t`, `{"auth":"[redacted]"`, "auth"},
		{"Python's quotes", `{'api_key': 's3cr3t', 'n': 1}`, `{'api_key': '[redacted]', 'n': 1}`, "api_key"},
		{"words", `{api_key: s3cr3t s3cr3t, n: 1}`, `{api_key: "[redacted]", n: 1}`, "api_key"},
		{"name:value", `api_key:s3cr3t,s3cr3t:s3cr3t`, `api_key:[redacted]`, "api_key"},
		{"name=value", `API-KEY=s3cr3t s3cr3t`, `API-KEY=[redacted]`, "API-KEY"},
		{"name:value, none", `max_tokens:5`, `max_tokens:5`, ""},
		{"name:JSON", `nvext:{"api_key":"s3cr3t"}`, `nvext:{"api_key":"[redacted]"}`, "api_key"},
		{"a list of name=value", `metadata=a=1 api_key=s3cr3t s3cr3t`, `metadata=a=1 api_key=[redacted]`, "api_key"},
		{"a query", `http://h/v1?a=1&token=s3cr3t`, `http://h/v1?a=1&token=[redacted]`, "token"},
		{"a URL with a password", `{"tools":[{"server_url":"https://u:s3cr3t@h/x"}]}`, `{"tools":[{"server_url":"https://[redacted]@h/x"}]}`, "server_url"},
		{"a URL with a key", `{"server_url":"https://h/x?a=1\u0026api_key=s3cr3t"}`, `{"server_url":"https://h/x?[redacted]"}`, "server_url"},
		{"a URL with a signature", `["https://h/x.png?se=1&sig=s3cr3t"]`, `["https://h/x.png?[redacted]"]`, "url"},
		{"a URL in Python's quotes", `{'image': 'https://h/x?X-Amz-Signature=s3cr3t'}`, `{'image': 'https://h/x?[redacted]'}`, "image"},
		{"a URL with a short key", `{"u":"https://h/x?key=1"}`, `{"u":"https://h/x?[redacted]"}`, "u"},
		{"a URL in JSON in a string", `{"inputs":"{\"u\":\"ftp://s3cr3t@h\"}"}`, `{"inputs":"{\"u\":\"ftp://[redacted]@h\"}"}`, "u"},
		{"a URL, none", `{"image_url":"https://h/x.png?w=640&h=480","prompt":"see https://h/?token=5 or a@b"}`, `{"image_url":"https://h/x.png?w=640&h=480","prompt":"see https://h/?token=5 or a@b"}`, ""},
		{"a path with an equals sign", `out/token=5/x.json`, `out/token=5/x.json`, ""},
		{"a list, none", `goodput=ttft:100 max_tokens=5`, `goodput=ttft:100 max_tokens=5`, ""},
		{"a path", `/data/secret/run=1.json`, `/data/secret/run=1.json`, ""},
		{"a sentence", `this is the key: it fits`, `this is the key: it fits`, ""},
		{"text", `what is an api key?`, `what is an api key?`, ""},
		{"empty", ``, ``, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Members(tt.in); got != tt.want || strings.Contains(got, "s3cr3t") {
				t.Errorf("Members(%s) = %s, want %s", tt.in, got, tt.want)
			}
			if got := strings.Join(MemberNames(tt.in), ","); got != tt.names {
				t.Errorf("MemberNames(%s) = %s, want %s", tt.in, got, tt.names)
			}
			if got := Members(tt.want); got != tt.want {
				t.Errorf("twice: %s", got)
			}
		})
	}
	for in, want := range map[string]string{
		`api_key="s3cr3t"`: `"[redacted]"`, "token=5": `"[redacted]"`, "token=true": "true", "max_tokens=5": "5", `metadata={"key":"s3cr3t"}`: `{"key":"[redacted]"}`,
	} {
		name, value, _ := strings.Cut(in, "=")
		if got := Member(name, value); got != want {
			t.Errorf("Member(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"api_key:s3cr3t:string": "api_key:[redacted]:string", "key:a:s3cr3t:int": "key:[redacted]:int", "token:s3cr3t": "token:[redacted]", "max_tokens:5:int": "max_tokens:5:int",
	} {
		if got := Parameter(in); got != want {
			t.Errorf("Parameter(%s) = %s, want %s", in, got, want)
		}
	}
}

// A server's answer that repeats a credential of the request is hidden, as a header's is.
func TestAddMembers(t *testing.T) {
	for _, text := range []string{
		`{"api_key":"s3cr3t-1"}`, `{"a":{"auth":{"user":"s3cr3t-2","list":["s3cr3t-1"]}}}`, `{"x":"{\"key\":\"s3cr3t-1\"}"}`, "api_key:s3cr3t-1", "{token: s3cr3t-1 }",
		`{"server_url":"https://u:s3cr3t-1@h"}`, `{"server_url":"https://h?token=s3cr3t-1"}`, `{"password":"s3cr3t-1\u0021"}`, "nvext:{\"key\":'s3cr3t-1'}",
	} {
		var s Secrets
		s.AddMembers(text)
		if got := s.Text("s3cr3t-1!"); strings.Contains(got, "s3cr3t-1") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// Valid JSON stays valid, nothing hangs or panics, and what is hidden is hidden for good.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"api_key":"x","a":[1,{"key":2}]}`, `{'a':'b'`, `key=`, `{"u":"ftp://a:b@h?sig=c"}`, `{"a":"{\"key\":1}"}`, "[\"\\", `{"key":`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Members(s)
		if json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "{") && !json.Valid([]byte(got)) {
			t.Fatalf("%q becomes %q", s, got)
		}
		if names := MemberNames(s); len(names) == 0 && got != s || !slices.Equal(names, MemberNames(s)) {
			t.Fatalf("%q becomes %q, with %q", s, got, names)
		}
	})
}
