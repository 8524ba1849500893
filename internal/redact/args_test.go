package redact

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
		{"a question mark in the password", "-u|http://user:s3cr3t?s3cr3t@h", "-u|http://[redacted]"},
		{"a number sign in the password", "-u|user:s3cr3t#s3cr3t@h", "-u|[redacted]"},
		{"an at sign in the query", "-u|http://h/v1?mail=a@s3cr3t", "-u|http://[redacted]"},
		{"a scheme in the password", "-u|user:s3cr3t://s3cr3t@h", "-u|[redacted]@h"},
		{"a URL in the query", "-u|h:1?from=http://s3cr3t", "-u|h:1?[redacted]"},
		{"a fragment alone", "-u|http://h/#s3cr3t", "-u|http://h/#[redacted]"},
		{"endpoint", "--endpoint|v1/x?key=s3cr3t|-m|x", "--endpoint|v1/x?[redacted]|-m|x"},
		{"endpoint with =", "--endpoint=v1/x?key=s3cr3t&b=s3cr3t", "--endpoint=v1/x?[redacted]"},
		{"endpoint, name cut short", "--endp|v1/x?key=s3cr3t|--en=x?s3cr3t|-endpoint|x#s3cr3t", "--endp|v1/x?[redacted]|--en=x?[redacted]|-endpoint|x#[redacted]"},
		{"endpoint that is a URL", "--endpoint|http://me:s3cr3t@h/v1?key=s3cr3t", "--endpoint|http://[redacted]@h/v1?[redacted]"},
		{"endpoint without a query", "--endpoint|publishers/x@001:predict", "--endpoint|publishers/x@001:predict"},
		{"a simulated server's settings stay", "-u|sim://?ttft=20ms", "-u|sim://?ttft=20ms"},
		{"plain", "-u|localhost:8000|--streaming", "-u|localhost:8000|--streaming"},
		{"a header at the end", "-H", "-H"},
		{"joined to its flag", "-uhttp://me:s3cr3t@host|-HX: s3cr3t", "-uhttp://[redacted]@host|-HX: [redacted]"},
		{"behind other short flags", "-avuhttp://me:s3cr3t@host|-avHs3cr3t", "-avuhttp://[redacted]@host|-avH[redacted]"},
		{"names cut short", "--head|X: s3cr3t|--ur=me:s3cr3t@host|--prox|http://me:s3cr3t@p:1", "--head|X: [redacted]|--ur=[redacted]@host|--prox|http://[redacted]@p:1"},
		{"between levels", "--between-levels|http://me:s3cr3t@h:1/flush?key=s3cr3t", "--between-levels|http://[redacted]@h:1/flush?[redacted]"},
		{"proxy", "--proxy|http://me:s3cr3t@p:1|--proxy=none", "--proxy|http://[redacted]@p:1|--proxy=none"},
		{"a list of servers", "-u|a:1,http://b:2/v1", "-u|a:1,http://b:2/v1"},
		{"a label", "-u|old=http://me:s3cr3t@h/v1?s3cr3t|--url=old=http://h?s3cr3t|-uold=me:s3cr3t@h", "-u|old=http://[redacted]@h/v1?[redacted]|--url=old=http://h?[redacted]|-u[redacted]@h"},
		{"a label of a simulated server", "-u|old=sim://?ttft=20ms|-uold=sim://?itl=1ms", "-u|old=sim://?ttft=20ms|-uold=sim://?itl=1ms"},
		{"a simulated server in a query", "-u|h/?s3cr3t=sim://", "-u|h/?[redacted]"},
		{"a member of the body", `--extra-body|{"api_key":"s3cr3t","max_tokens":5}|-v`, `--extra-body|{"api_key":"[redacted]","max_tokens":5}|-v`},
		{"a member of the body, with =", `--extra-body={"a":{"token":"s3cr3t"}}|-extra-body={"token":"s3cr3t"}`, `--extra-body={"a":{"token":"[redacted]"}}|-extra-body={"token":"[redacted]"}`},
		{"a template, name cut short", `--request-templ|{"text":"{{prompt}}","auth":"s3cr3t"}`, `--request-templ|{"text":"{{prompt}}","auth":"[redacted]"}`},
		{"a request parameter", "--request-parameter|api_key:s3cr3t:string|--request-p=max_tokens:5:int", "--request-parameter|api_key:[redacted]:string|--request-p=max_tokens:5:int"},
		{"a flag of another tool", `--extra-inputs|api_key:s3cr3t|--extra-inputs={"token":"s3cr3t"}|--x|password=s3cr3t|-extra-inputs=token=s3cr3t`, `--extra-inputs|api_key:[redacted]|--extra-inputs={"token":"[redacted]"}|--x|password=[redacted]|-extra-inputs=token=[redacted]`},
		{"other joined values stay", "-p1000|-mu@x|-av", "-p1000|-mu@x|-av"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Args(strings.Split(tt.in, "|"))
			if want := strings.Split(tt.want, "|"); !slices.Equal(got, want) {
				t.Errorf("Args(%q) = %q, want %q", tt.in, got, want)
			}
			if strings.Contains(strings.Join(got, " "), secret) {
				t.Errorf("the secret is in %q", got)
			}
		})
	}
}
