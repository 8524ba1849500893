package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRedactArgs(t *testing.T) {
	const secret = "s3cr3t"
	for _, tt := range []struct{ name, in, want string }{
		{"header", "pa-record|-H|Authorization: Bearer s3cr3t|-m|x", "pa-record|-H|Authorization: [redacted]|-m|x"},
		{"long header with =", "--header=X-Api-Key: s3cr3t", "--header=X-Api-Key: [redacted]"},
		{"single dash, long name", "-header|X: s3cr3t", "-header|X: [redacted]"},
		{"header without a name", "-H|s3cr3t", "-H|[redacted]"},
		{"user information", "-u|https://me:s3cr3t@host:8000/v1", "-u|https://[redacted]@host:8000/v1"},
		{"without a scheme", "--url=me:s3cr3t@host:8000", "--url=[redacted]@host:8000"},
		{"query of a URL", "-u|https://host/v1?key=s3cr3t", "-u|https://host/v1?[redacted]"},
		{"user information and query", "-u|http://alice:s3cr3t@host/?token=s3cr3t", "-u|http://[redacted]@host/?[redacted]"},
		{"a slash in the password", "-u|http://alice:s3/s3cr3t@host/v1", "-u|http://[redacted]@host/v1"},
		{"an at sign in the password", "-u|http://alice:s3cr3t@s3cr3t@host", "-u|http://[redacted]@host"},
		{"query and fragment without a scheme", "-u|host:1?s3cr3t#s3cr3t", "-u|host:1?[redacted]#[redacted]"},
		{"a simulated server's settings stay", "-u|sim://?ttft=20ms", "-u|sim://?ttft=20ms"},
		{"plain", "-u|localhost:8000|--streaming", "-u|localhost:8000|--streaming"},
		{"a header at the end", "-H", "-H"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := redactArgs(strings.Split(tt.in, "|"))
			if want := strings.Split(tt.want, "|"); !slices.Equal(got, want) {
				t.Errorf("redactArgs(%q) = %q, want %q", tt.in, got, want)
			}
			if strings.Contains(strings.Join(got, " "), secret) {
				t.Errorf("the secret is in %q", got)
			}
		})
	}
}
