package resultfile

import (
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// The status that an HTTP client names in a sentence is the status of the request.
func TestFail(t *testing.T) {
	for _, tt := range []struct {
		text   string
		code   int
		status export.Status
	}{
		{"Client error '400 Bad Request' for url 'http://h:8000/v1/completions'\nFor more information check: https://developer.mozilla.org/en-US/docs/Web/HTTP/Status/400", 400, export.StatusHTTPError}, // httpx
		{"Server error '503 Service Unavailable' for url 'http://h/v1'", 503, export.StatusHTTPError},
		{"HTTPStatusError: Redirect response '307 Temporary Redirect' for url 'http://h/v1'", 307, export.StatusHTTPError},
		{"400 Client Error: Bad Request for url: http://h/v1", 400, export.StatusHTTPError},                         // requests
		{"requests.exceptions.HTTPError: 529 Server Error: None for url: http://h/v1", 529, export.StatusHTTPError}, // a status without a phrase
		{"500, message='Internal Server Error', url='http://h/v1'", 500, export.StatusHTTPError},                    // aiohttp
		{"Traceback (most recent call last):\n  File \"x\"\naiohttp.client_exceptions.ClientResponseError: 499, message='', url=URL('http://h/v1')", 499, export.StatusHTTPError},
		{"HTTPConnectionPool(host='h', port=443): Max retries exceeded with url: /v1 (Caused by ResponseError('too many 503 error responses'))", 503, export.StatusHTTPError}, // urllib3
		{"HTTP Error 404: Not Found", 404, export.StatusHTTPError},                                                                                                            // urllib
		{"openai.RateLimitError: Error code: 429 - {'error': {'message': 'slow down'}}", 429, export.StatusHTTPError},                                                         // openai
		{"Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error'}}", 529, export.StatusHTTPError},                                                           // anthropic
		{"HTTP status client error (422 Unprocessable Entity) for url (http://h/v1)", 422, export.StatusHTTPError},                                                            // reqwest
		{"unexpected status code: 502", 502, export.StatusHTTPError},                                                                                                          // programs in Go
		{"server returned 504 Gateway Timeout", 504, export.StatusHTTPError},
		{"bad response: status 401", 401, export.StatusHTTPError},
		{"Request failed with status code 429", 429, export.StatusHTTPError}, // axios
		{"HTTP/1.1 503 Service Temporarily Overloaded", 503, export.StatusHTTPError},
		{"Server returned HTTP response code: 500 for URL: http://h", 500, export.StatusHTTPError},                                // Java
		{"curl: (22) The requested URL returned error: 404", 404, export.StatusHTTPError},                                         // curl
		{`{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}`, 400, export.StatusHTTPError}, // a body
		{"<Response [503]>", 503, export.StatusHTTPError},                                                                         // a response of requests
		{"<Response [503 Service Unavailable]>", 503, export.StatusHTTPError},                                                     // of httpx
		{"Service Unavailable", 503, export.StatusHTTPError},
		{"Error code: 400 - {'error': {'message': \"This model's maximum context length is 500 tokens.\", 'code': 400}}", 400, export.StatusContextOverflow},
		{"This model's maximum context length is 500 tokens. However, you requested 600 tokens", 0, export.StatusContextOverflow},
		{"Error code: 429 - {'error': {'message': 'prompt is too long for your rate limit'}}", 429, export.StatusHTTPError},
		{"All connection attempts failed", 0, export.StatusConnectError},                         // httpx
		{"[Errno -2] Name or service not known", 0, export.StatusConnectError},                   // Linux
		{"[Errno 8] nodename nor servname provided, or not known", 0, export.StatusConnectError}, // macOS
		{"[Errno -3] Temporary failure in name resolution", 0, export.StatusConnectError},        // Linux
		{"[Errno 113] No route to host", 0, export.StatusConnectError},                           // Linux
		{"[Errno 101] Network is unreachable", 0, export.StatusConnectError},                     // Linux
		{"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed", 0, export.StatusConnectError},
		{"Bad Request: {\"x\":1}", 400, export.StatusHTTPError},

		{"Client error '499 ' for url 'http://h/v1'", 499, export.StatusHTTPError}, // httpx has no phrase for it
		{"Server error '529 ' for url 'http://h/v1'", 529, export.StatusHTTPError},
		{"Redirect response '399 ' for url 'http://h/v1'", 399, export.StatusHTTPError},
		{"HTTP status server error (599 <unknown status code>) for url (http://h/v1)", 599, export.StatusHTTPError}, // reqwest
		{"The remote server returned an error: (503) Server Unavailable.", 503, export.StatusHTTPError},             // .NET
		{"ERROR 500: Internal Server Error.", 500, export.StatusHTTPError},                                          // wget
		{"503: Service Unavailable", 503, export.StatusHTTPError},
		{"tritonclient.utils.InferenceServerException: [400] unexpected shape", 400, export.StatusHTTPError},
		{"[429] Too Many Requests", 429, export.StatusHTTPError},
		{"APIStatusError: 413", 413, export.StatusHTTPError},
		{"server error: 503", 503, export.StatusHTTPError},
		{"Non-200 response: 503", 503, export.StatusHTTPError},
		{"Got error response 503", 503, export.StatusHTTPError},
		{"Expected status 200, got 503", 503, export.StatusHTTPError},

		{"Cannot connect to host 10.0.0.1:503 ssl:default [Connect call failed ('10.0.0.1', 503)]", 0, export.StatusConnectError},
		{"Timeout on reading data from socket http://500.example/v1 after 300 seconds", 0, export.StatusTimeout},
		{"prompt of 512 tokens is longer than 400", 0, export.StatusFailed},
		{"Response payload is not completed: <TransferEncodingError: 400, message='Not enough data to satisfy transfer length header.'>", 0, export.StatusTruncated},
		{"exit code: 137", 0, export.StatusFailed},
		{"expected 512 tokens, got 400", 0, export.StatusFailed},
		{"the server returned 400 of 512 tokens", 0, export.StatusFailed},
		{"tokens [300, 400] are missing", 0, export.StatusFailed},
		{"status 200 but no body", 0, export.StatusFailed},
		{"got 500 tokens, status code 2000", 0, export.StatusFailed},
	} {
		var r export.Request
		Fail(&r, 0, tt.text)
		if r.Code != tt.code || r.Status != tt.status {
			t.Errorf("%q: %v %d, want %v %d", tt.text, r.Status, r.Code, tt.status, tt.code)
		}
	}
}

func FuzzStatusCode(f *testing.F) {
	f.Add("Client error '400 Bad Request' for url 'http://h'")
	f.Add("Error code: 429 - {}")
	f.Add("500 ")
	f.Fuzz(func(t *testing.T, text string) {
		if code := statusCode(text); code != 0 && (code < 300 || code > 599) {
			t.Errorf("%q: %d", text, code)
		}
	})
}
