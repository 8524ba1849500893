package redact

import (
	"strings"
	"testing"
)

func TestSecrets(t *testing.T) {
	for _, tt := range []struct {
		name, header, value string
		in, text            string
	}{
		{"the whole value", "Authorization", "Bearer sk-secret-1", "got Bearer sk-secret-1.", "got [redacted]."},
		{"behind the scheme", "Authorization", "Bearer sk-secret-1", "key sk-secret-1, sk-secret-1", "key [redacted], [redacted]"},
		{"the scheme is none", "Authorization", "Bearer sk-secret-1", "give a Bearer token", "give a Bearer token"},
		{"Basic, as sent", "Authorization", "Basic Ym9iOnRvcHNlY3JldDI=", "Ym9iOnRvcHNlY3JldDI=", "[redacted]"},
		{"Basic, decoded", "Authorization", "basic Ym9iOnRvcHNlY3JldDI=", "bob:topsecret2", "[redacted]"},
		{"the password alone", "Authorization", "Basic Ym9iOnRvcHNlY3JldDI=", "wrong: topsecret2", "wrong: [redacted]"},
		{"a name without a password", "Authorization", "Basic dG9rZW4tMTIzNDU2Og==", "user token-123456", "user [redacted]"},
		{"in base64", "K", "sk-secret-1", "c2stc2VjcmV0LTE= and c2stc2VjcmV0LTE", "[redacted]= and [redacted]"},
		{"in base64 for URLs", "K", "sk-secret->>??", "c2stc2VjcmV0LT4-Pz8 c2stc2VjcmV0LT4+Pz8=", "[redacted] [redacted]="},
		{"several parts", "X-Auth", `Digest a="123456", "abcdef"`, `a="123456 and abcdef`, "[redacted] and [redacted]"},
		{"any header", "X-Whatever", "abc def ghi", "abc def ghi, abc def", "[redacted], abc def"},
		{"a part equals the beginning of the whole", "Api-Key", "Token Tokens", "Token Tokens Tokens", "[redacted] [redacted]"},
		{"edge: six runes", "K", "äöüäöü", "äöüäöü", "[redacted]"},
		{"edge: five runes of ten bytes", "K", "äöüäö", "äöüäö", "äöüäö"},
		{"edge: empty", "K", "", "a", "a"},
		{"harmless", "Accept", "application/json", "application/json", "application/json"},
		{"harmless too", "Content-Type", "application/json", "application/json", "application/json"},
		{"JSON", "K", `a"b\c<d>`, `a\"b\\c<d>`, "[redacted]"},
		{"JSON, quoted", "K", `"abcde"`, `\"abcde\"`, "[redacted]"},
		{"JSON for HTML", "K", `abc<d>`, "abc\\u003cd\\u003e", "[redacted]"},
		{"JSON with escaped slashes", "K", "a/b/c/d", `a\/b\/c\/d`, "[redacted]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Secrets
			s.AddHeader(tt.header, tt.value)
			if got := s.Text(tt.in); got != tt.text {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.text)
			}
			b := []byte(tt.in)
			s.Mask(b)
			if hidden := strings.Contains(tt.text, placeholder); len(b) != len(tt.in) || hidden != strings.Contains(string(b), "******") {
				t.Errorf("Mask(%q) = %q", tt.in, b)
			}
		})
	}
}

func TestAddQuery(t *testing.T) {
	for _, tt := range []struct{ name, query, in, want string }{
		{"a value", "key=SECRETKEY", "/v1?key=SECRETKEY", "/v1?key=[redacted]"},
		{"several", "a=SECRET-1&b=SECRET-2;c=SECRET-3", "SECRET-1 SECRET-2 SECRET-3", "[redacted] [redacted] [redacted]"},
		{"escaped, as it stands", "k=a%2Fb+c%26d", "a%2Fb+c%26d", "[redacted]"},
		{"escaped, decoded", "k=a%2Fb+c%26d", "a/b c&d, a/b+c&d", "[redacted], [redacted]"},
		{"a wrong escape", "k=100%SECRET", "100%SECRET", "[redacted]"},
		{"an equals sign in the value", "k=SECRETS==", "SECRETS==", "[redacted]"},
		{"without a name", "SECRETKEY", "SECRETKEY", "[redacted]"},
		{"with an empty name", "=SECRETKEY", "SECRETKEY", "[redacted]"},
		{"a name is none", "SECRETKEY=abc", "SECRETKEY", "SECRETKEY"},
		{"harmless", "api-version=2024-10-21&Model=llama-3", "2024-10-21 llama-3", "2024-10-21 llama-3"},
		{"edge: five runes", "k=abcde", "abcde", "abcde"},
		{"edge: empty", "", "abc", "abc"},
		{"edge: empty parts", "&&=&", "abc", "abc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Secrets
			s.AddQuery(tt.query)
			if got := s.Text(tt.in); got != tt.want {
				t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestMask(t *testing.T) {
	var s Secrets
	s.Mask([]byte("nothing to hide")) // the zero value
	s.Add("secret")
	s.Add("secret-1")
	s.Add("123456")
	b := []byte("1123456 123456 1234567 secret-1secretsecresecret-secret")
	s.Mask(b)
	if got, want := string(b), "1123456 ****** 1234567 **************secre******-******"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// For any bytes, none of the secrets is left, lengths stay, and nothing but secrets changes.
func FuzzMask(f *testing.F) {
	f.Add("secret", []byte("a secret"))
	f.Add("aaaaaa", []byte("aaaaaaaaaaa"))
	f.Add("a*a*a*", []byte("a*a*a*a*a*"))
	f.Fuzz(func(t *testing.T, secret string, in []byte) {
		var s Secrets
		s.Add(secret)
		before := string(in)
		s.Mask(in)
		if len(in) != len(before) {
			t.Fatalf("%d bytes became %d", len(before), len(in))
		}
		for i := range in {
			if in[i] != before[i] && in[i] != '*' {
				t.Fatalf("byte %d of %q became %q", i, before, in[i])
			}
		}
		if len(s.forms) == 0 && string(in) != before {
			t.Fatalf("%q became %q without a secret", before, in)
		}
		if len(s.forms) > 0 && strings.Trim(secret, "*") == secret && strings.Trim(strings.TrimSpace(secret), digits) != "" && strings.Contains(string(in), strings.TrimSpace(secret)) {
			t.Fatalf("%q is left in %q", secret, in)
		}
	})
}
