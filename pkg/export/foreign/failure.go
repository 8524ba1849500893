package foreign

import (
	"strings"

	"github.com/pa-tools/pa/internal/httpstatus"
	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
)

// maxMessageBytes bounds the error text of a request: a Python traceback is no
// message.
const maxMessageBytes = 1 << 10

// fail marks r as failed for a reason that the tool put into words: the name of
// a Python exception, a line of a traceback, or what HTTP calls the status. code
// is the HTTP status if it is known, else 0.
func fail(r *export.Request, code int, text string) {
	r.Message = message(text)
	r.Code = code
	if code == 0 {
		r.Code = statusCode(text)
	}
	r.Status = statusOf(text)
	if r.Code >= 300 {
		r.Status = export.StatusHTTPError
	}
}

// message returns the last line of a traceback that is not empty, else the
// text, bounded.
func message(text string) string {
	if strings.HasPrefix(text, "Traceback ") {
		text = strings.TrimRight(text, "\n")
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return sanitize.Cut(text, maxMessageBytes)
}

// statusCode finds the status that text is the usual phrase of, alone or before
// the body: "Service Unavailable", "Bad Request: {…". 0 for none.
func statusCode(text string) int {
	phrase, _, _ := strings.Cut(text, ":")
	phrase = strings.TrimSpace(phrase)
	for code := 300; code < 600; code++ {
		if phrase != "" && httpstatus.Text(code) == phrase {
			return code
		}
	}
	return 0
}

// words are the texts by which a failure is recognized, the most specific first. They
// come from aiohttp, httpx, requests, gRPC and reqwest.
var words = []struct {
	status export.Status
	any    []string
}{
	{export.StatusCancelled, []string{"Cancelled", "cancelled", "canceled"}},
	{export.StatusTimeout, []string{"Timeout", "timeout", "timed out", "DEADLINE_EXCEEDED"}},
	{export.StatusConnectError, []string{
		"ClientConnect", "ConnectError", "Cannot connect", "Connection refused", "ConnectionRefused", "error trying to connect", "UNAVAILABLE",
	}},
	{export.StatusTruncated, []string{
		"ClientPayloadError", "TransferEncodingError", "ContentLengthError", "incomplete chunked read", "RemoteProtocolError", "IncompleteRead",
		"ServerDisconnected", "Server disconnected", "Connection reset", "ConnectionReset", "ClientOSError", "error decoding response body", "stream read failed",
	}},
}

func statusOf(text string) export.Status {
	for _, w := range words {
		for _, s := range w.any {
			if strings.Contains(text, s) {
				return w.status
			}
		}
	}
	return export.StatusFailed
}
