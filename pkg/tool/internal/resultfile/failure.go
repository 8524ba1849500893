package resultfile

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// maxMessageBytes bounds the error text of a request: a Python traceback is no
// message.
const maxMessageBytes = 1 << 10

// Fail marks r as failed for a reason that the tool put into words: the name of
// a Python exception, a line of a traceback, or what HTTP calls the status. code
// is the HTTP status if it is known, else 0.
func Fail(r *export.Request, code int, text string) {
	r.Message = Message(text)
	r.Code, r.Status = code, statusOf(text)
	if code == 0 && r.Status != export.StatusTruncated { // aiohttp numbers a broken body 400
		r.Code = statusCode(text)
	}
	if r.Code >= 300 {
		r.Status = export.StatusHTTPError
	}
	switch r.Code {
	case 0, 400, 413, 422:
		if e := (&openai.Error{Message: text}); r.Status != export.StatusTruncated && e.ContextOverflow() {
			r.Status = export.StatusContextOverflow
		}
	}
}

// Message returns the last line of a traceback that is not empty, else the
// text, bounded.
func Message(text string) string {
	if strings.HasPrefix(text, "Traceback ") {
		text = strings.TrimRight(text, "\n")
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	return sanitize.Cut(text, maxMessageBytes)
}

// codes match the sentences in which HTTP clients name a status, each with the status as its
// group.
var codes = []*regexp.Regexp{
	regexp.MustCompile(`\b([3-5]\d\d) (?:Client|Server) Error\b`),                                                // requests
	regexp.MustCompile(`\b([3-5]\d\d), message=`),                                                                // aiohttp
	regexp.MustCompile(`(?i)\berror code['"]?[ :=]{1,3}([3-5]\d\d)\b`),                                           // openai, anthropic
	regexp.MustCompile(`(?i)\bHTTP(?:/[\d.]+)?(?: (?:status|error|response))*(?: code)?[ :=]{1,2}([3-5]\d\d)\b`), // urllib, Java, a status line
	regexp.MustCompile(`(?i)\bstatus(?:[ _-]?code)?(?: (?:is|was|of))?['"]?[ :=]{1,3}([3-5]\d\d)\b`),             // axios, programs in Go, JSON
	regexp.MustCompile(`\btoo many ([3-5]\d\d) error responses\b`),                                               // urllib3
	regexp.MustCompile(`\bResponse \[([3-5]\d\d)\b`),                                                             // a response as httpx and requests print it
	regexp.MustCompile(`\breturned error: ([3-5]\d\d)\b`),                                                        // curl
	regexp.MustCompile(`(?i)(?:client|server|status) ?error:?(?: ['(]| )([3-5]\d\d)\b`),                          // httpx and reqwest without a phrase
	regexp.MustCompile(`\bRedirect response '([3-5]\d\d)\b`),                                                     // httpx
	regexp.MustCompile(`\breturned an error: \(([3-5]\d\d)\)`),                                                   // .NET
	regexp.MustCompile(`(?i)\b(?:error|non-200) response[ :]{1,2}([3-5]\d\d)\b`),                                 // programs
	regexp.MustCompile(`(?i)\bexpected (?:status )?(?:code )?2\d\d,? (?:but )?got ([3-5]\d\d)\b`),                // tests
	regexp.MustCompile(`(?:^|: )\[([3-5]\d\d)\] `),                                                               // tritonclient
	regexp.MustCompile(`\bcode['"]?[ :=]{1,3}([3-5]\d\d)\b`),                                                     // the body of an error
}

// phrased matches a number that may be a status before its phrase: "400 Bad Request", or "400: Bad Request". The phrase
// begins at the end of the match.
var phrased = regexp.MustCompile(`\b([3-5]\d\d)[:)\]]? \b`)

// hasNumber reports whether text has a number of three digits that may be a status. Most messages
// of failures have none, and then no expression can match.
func hasNumber(text string) bool {
	digits := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] >= '0' && text[i] <= '9':
			digits++
		case digits == 3 && text[i-3] >= '3' && text[i-3] <= '5':
			return true
		default:
			digits = 0
		}
	}
	return false
}

// statusCode finds the status that a client names in text: within a sentence, with the usual
// phrase of HTTP ("Client error '400 Bad Request' for url …"), or by the phrase alone or before
// the body ("Service Unavailable", "Bad Request: {…"). 0 for none.
func statusCode(text string) int {
	text = text[:min(len(text), maxMessageBytes)]
	if !hasNumber(text) {
		return phraseCode(text)
	}
	for _, m := range phrased.FindAllStringSubmatchIndex(text, -1) {
		code, _ := strconv.Atoi(text[m[2]:m[3]])
		if phrase := openai.StatusText(code); phrase != "" && len(text)-m[1] >= len(phrase) && strings.EqualFold(text[m[1]:m[1]+len(phrase)], phrase) {
			return code
		}
	}
	for _, c := range codes {
		if m := c.FindStringSubmatch(text); m != nil {
			code, _ := strconv.Atoi(m[1])
			return code
		}
	}
	return phraseCode(text)
}

// phraseCode finds the status that text is the usual phrase of, alone or before the body.
func phraseCode(text string) int {
	phrase, _, _ := strings.Cut(text, ":")
	phrase = strings.TrimSpace(phrase)
	for code := 300; code < 600; code++ {
		if phrase != "" && openai.StatusText(code) == phrase {
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
		"All connection attempts failed", "ame or service not known", "name resolution", "nodename nor servname", "No route to host",
		"etwork is unreachable", "CERTIFICATE_VERIFY_FAILED",
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
