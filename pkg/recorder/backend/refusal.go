package backend

import (
	"net/http"
	"net/url"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// RefusalMessage completes the message of an HTTP answer with an error status. It says where a
// redirection leads, without the parts of the URL that may be secret, and when the server wants
// the request again.
func RefusalMessage(msg string, code int, header http.Header) string {
	if to := header.Get("Location"); to != "" && code < 400 {
		msg = "redirected to " + withoutQuery(to) + "; give that URL instead"
	}
	if after := header.Get("Retry-After"); after != "" {
		msg += "; retry after " + openai.OneLine([]byte(after))
	}
	return msg
}

// withoutQuery returns a URL without the parts that may be secret.
func withoutQuery(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL that cannot be read"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return openai.OneLine([]byte(u.String()))
}
