package kserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// errProtocol marks bytes that are not what the protocol says.
var errProtocol = errors.New("the message is not a ModelStreamInferResponse")

// errNotServed marks an answer of the right protocol that says that there is
// no such service.
var errNotServed = errors.New("the server does not speak KServe v2")

// A refusal is an answer of the right protocol that says why there is none to
// the question: credentials, a server that is not ready, a limit.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

// credentialsHint ends the text of a refusal that is about credentials.
const credentialsHint = "; give -H 'Authorization: …'"

// A tooLongError says that an answer or message is longer than allowed.
type tooLongError struct{ limit int64 }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the answer is longer than %d bytes", e.limit)
}

// isTooLong reports whether s is the gRPC library's own word that a message
// exceeds the limit. A server that finds a request too long says nearly the
// same, with its own limit.
func isTooLong(s *status.Status, limit int64) bool {
	return s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message larger than max") &&
		strings.HasSuffix(s.Message(), fmt.Sprintf(" vs. %d)", limit))
}

// maxMessage bounds the text kept of an error, in bytes.
const maxMessage = 1024

// clip is clip for text of the server, without secrets. They are hidden before
// the cut, which would leave a part of one.
func (b *Backend) clip(s string) string { return clip(b.secrets.Text(s)) }

// hide returns err with a text without secrets.
func (b *Backend) hide(err error) error {
	if text := b.secrets.Text(err.Error()); text != err.Error() {
		return &hiddenError{text, err}
	}
	return err
}

// A hiddenError is an error with a text of its own.
type hiddenError struct {
	text string
	err  error
}

func (e *hiddenError) Error() string { return e.text }
func (e *hiddenError) Unwrap() error { return e.err }

// clip bounds a text and makes it one line.
func clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}

// connectText names the reason why there is no connection, or returns "".
func connectText(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case backend.LocalLimit(err) != "":
		return backend.LocalLimit(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dns):
		return "no such host"
	case errors.As(err, &op) && op.Op == "dial":
		if op.Timeout() || errors.Is(err, context.DeadlineExceeded) {
			return "no connection: timeout"
		}
		return "no connection: " + op.Err.Error()
	}
	return ""
}

// fail records in r why a request did not end well. sent says that the request
// may have reached the server.
func (b *Backend) fail(ctx context.Context, r *export.Request, err error, sent bool) {
	switch ctx.Err() {
	case nil:
	case context.DeadlineExceeded:
		r.Status, r.Message = export.StatusTimeout, "no complete answer within the request's time limit"
		return
	default:
		r.Status, r.Message = export.StatusCancelled, "cancelled"
		return
	}
	r.Message = b.clip(err.Error())
	var tooLong *tooLongError
	if errors.Is(err, errProtocol) || errors.As(err, &tooLong) {
		r.Status = export.StatusProtocolError
		return
	}
	if limit := backend.LocalLimit(err); limit != "" && !sent {
		r.Message = limit
	}
	if text := connectText(err); text != "" && !sent {
		r.Status = export.StatusConnectError
		return
	}
	if s, ok := status.FromError(err); ok && !errors.Is(err, io.EOF) {
		if isTooLong(s, b.cfg.MaxBodyBytes) {
			r.Status, r.Message = export.StatusProtocolError, (&tooLongError{b.cfg.MaxBodyBytes}).Error()
			return
		}
		r.Code, r.Message = int(s.Code()), b.clip(s.Message())
		switch {
		case s.Code() == codes.DeadlineExceeded:
			r.Status = export.StatusTimeout
		case s.Code() != codes.Unavailable:
			r.Status = export.StatusRPCError
		case !sent:
			r.Status = export.StatusConnectError
		case len(r.Responses) > 0:
			r.Status = export.StatusTruncated
		default:
			r.Status = export.StatusRPCError
		}
		return
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.Status = export.StatusTimeout
	case !sent:
		r.Status = export.StatusConnectError
	default:
		r.Status = export.StatusTruncated
	}
}
