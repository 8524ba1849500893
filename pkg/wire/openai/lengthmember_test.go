package openai

import "testing"

func TestOtherLengthMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ refusal, sent, want string }{
		{"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens", "max_completion_tokens"},
		{"max_completion_tokens: Extra inputs are not permitted", "max_completion_tokens", "max_tokens"},
		{"max_tokens is deprecated; use max_output_tokens", "max_tokens", "max_output_tokens"},
		{"max_tokens is deprecated", "max_tokens", ""}, // it does not say by what
		{"max_tokens 9000 is larger than 4096", "max_tokens", ""},
		{"unknown member foo", "max_tokens", ""},
		{"unknown member max_tokens", "max_completion_tokens", ""},
		{"", "max_tokens", ""},
	} {
		if got := OtherLengthMember(tt.refusal, tt.sent); got != tt.want {
			t.Errorf("%q: %q instead of %s, want %q", tt.refusal, got, tt.sent, tt.want)
		}
	}
}
