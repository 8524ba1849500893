package kserve

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// explain replaces the gRPC library's text about a lost connection by a plain one.
// Errors of the server stay unchanged.
func (c *stampedClientConn) explain(err error) error {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable {
		return err
	}
	text, ok := c.b.libraryText(s.Message(), c.failure())
	if !ok {
		return err
	}
	return status.Error(codes.Unavailable, text)
}

// noALPN is in the text of the gRPC library about a server that agrees on no protocol over TLS.
const noALPN = "missing selected ALPN property"

// libraryText translates a text of the gRPC library about the connection into one
// line that says what to check; ok is false for the text of a server. dial is the
// error of the last attempt to connect, or nil; msg has it as text only.
func (b *Backend) libraryText(msg string, dial error) (text string, ok bool) {
	msg = strings.TrimPrefix(msg, "closing transport due to: ")
	msg, _, _ = strings.Cut(msg, ", received prior goaway: ")
	desc, connection := strings.CutPrefix(msg, "connection error: desc = ")
	if plain, err := strconv.Unquote(desc); connection && err == nil {
		desc = plain
	}
	for _, prefix := range []string{"transport: Error while dialing: ", "transport: error while dialing: ", "transport: authentication handshake failed: "} {
		if why, ok := strings.CutPrefix(desc, prefix); ok && dial == nil { // the library may be connecting again
			return "no connection: " + last(why), true
		} else if ok && (strings.Contains(why, noALPN) || backend.IsAlert(dial, "no application protocol")) {
			return "the server speaks TLS without HTTP/2, which gRPC needs; is -u its gRPC port? (usually 8001)", true
		} else if ok {
			text, _ := backend.ConnectMessage(dial, b.advice())
			return text, true
		}
	}
	if why, ok := strings.CutPrefix(desc, "error reading server preface: "); ok {
		return b.greetingText(why), true
	}
	if why, ok := strings.CutPrefix(desc, "error reading from server: "); ok {
		return "the connection broke before the end of the answer: " + last(why), true
	}
	if strings.HasPrefix(desc, "write tcp ") || strings.HasPrefix(desc, "transport: failed to write ") {
		return b.closedText(last(desc)), true
	}
	if connection || desc == "transport is closing" || desc == "the connection is draining" {
		return "the connection is lost: " + desc, true
	}
	return "", false
}

// greetingText describes a server whose first bytes are not HTTP/2, or that sent none.
func (b *Backend) greetingText(why string) string {
	_, alert, alarmed := strings.Cut(why, "remote error: ")
	switch {
	case alarmed:
		return alert + "; give a client certificate that the server accepts"
	case strings.HasPrefix(why, "http2: "):
		return "what answers does not speak gRPC (" + why + "); is -u the server's gRPC port? (usually 8001)"
	}
	return b.closedText(last(why))
}

// closedText describes a server that closed the connection.
func (b *Backend) closedText(why string) string {
	check := "is -u its gRPC port, and does it want TLS (--ssl-grpc-use-ssl)?"
	if b.target.tls {
		check = "does it want a client certificate (--ssl-grpc-certificate-chain-file)?"
	}
	return "the server closed the connection: " + why + "; " + check
}

// last returns the innermost text of a chain of wrapped errors.
func last(text string) string {
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+len(": "):]
	}
	return text
}
