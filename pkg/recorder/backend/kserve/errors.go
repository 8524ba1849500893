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

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// errProtocol marks bytes that are no message of the protocol.
var errProtocol = errors.New("the message is not a ModelStreamInferResponse")

// errNotServed marks an answer in the right protocol that the service does not exist.
var errNotServed = errors.New("the server does not speak KServe v2")

// A refusal is an answer in the right protocol that says why the server does not serve
// the request: credentials, a server that is not ready, a limit.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

// credentialsHint ends the text of a refusal because of credentials.
const credentialsHint = "; give -H 'Authorization: …'"

// isTooLong reports whether s is the gRPC library's error of a message that exceeds the
// limit. The error of a server that finds a request too long is nearly the same, with the
// server's limit.
func isTooLong(s *status.Status, limit int64) bool {
	return s.Code() == codes.ResourceExhausted && strings.HasPrefix(s.Message(), "grpc: received message larger than max") &&
		strings.HasSuffix(s.Message(), fmt.Sprintf(" vs. %d)", limit))
}

// maxMessage bounds the text of an error, in bytes.
const maxMessage = 1024

// clipped clips a text of the server and hides secrets. It hides them first, because a cut could
// leave a part of one.
func (b *Backend) clipped(s string) string { return clip(b.secrets.Text(s)) }

// hide returns err with the secrets in its text hidden.
func (b *Backend) hide(err error) error {
	if text := b.secrets.Text(err.Error()); text != err.Error() {
		return &textError{text, err}
	}
	return err
}

// A textError is an error with a text of its own.
type textError struct {
	text string
	err  error // may be nil
}

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }

// clip bounds a text and makes it one line.
func clip(s string) string {
	return sanitize.Clip(strings.Join(strings.Fields(s), " "), maxMessage)
}

// advice returns the advice for connections of the protocol.
func (b *Backend) advice() backend.Advice {
	if b.cfg.Protocol == GRPC {
		return backend.GRPCAdvice
	}
	return backend.HTTPAdvice
}

// connectText describes a failed connection in one line, and what to do; it returns "" if
// err has another cause.
func (b *Backend) connectText(err error) string {
	if worded, ok := errors.AsType[*textError](err); ok && worded.err != nil {
		return worded.text
	}
	if pe := b.proxyError(err); pe != nil {
		err = pe
	}
	text, known := backend.ConnectMessage(err, b.advice())
	var op *net.OpError
	var timeout net.Error
	dialing := errors.As(err, &op) && op.Op == "dial"
	switch {
	case dialing && !known:
		return "no connection: " + text
	case !known, !dialing && errors.As(err, &timeout) && timeout.Timeout(): // of an answer
		return ""
	}
	return text
}

// brokenText describes in one line why an HTTP exchange failed before the end of the answer.
// answered says that the answer had begun.
func brokenText(err error, answered bool) string {
	switch {
	case strings.Contains(err.Error(), "response headers exceeded"): // net/http has no type for it
		return fmt.Sprintf("the head of the answer is longer than %d bytes", maxHeadBytes)
	case strings.Contains(err.Error(), "malformed HTTP"): // nor for it
		return "the server does not speak HTTP; is -u its HTTP port?"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke before the end of the answer: unexpected EOF"
	case connectionEnded(err) && answered:
		return "the connection broke before the end of the answer: " + backend.Cause(err)
	case connectionEnded(err):
		return "the connection was closed without an answer: " + backend.Cause(err)
	}
	return backend.Cause(backend.WithoutHTTPPrefix(err))
}

// connectionEnded reports whether err means that the connection was closed, reset or lost, and not
// that its bytes are wrong.
func connectionEnded(err error) bool {
	var op *net.OpError
	var errno syscall.Errno
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &errno) || errors.As(err, &op) || strings.Contains(err.Error(), "server closed idle connection") // net/http has no type for it
}

// fail sets status and message of a failed request. sent says that the request may have
// reached the server.
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
	r.Message = b.clipped(err.Error())
	var tooLong *backend.AnswerMemoryError
	if errors.Is(err, errProtocol) || errors.As(err, &tooLong) {
		r.Status = export.StatusProtocolError
		return
	}
	if text := b.connectText(err); text != "" && !sent {
		r.Status, r.Message = export.StatusConnectError, b.clipped(b.target.host+": "+text)
		return
	}
	if s, ok := status.FromError(err); ok && !errors.Is(err, io.EOF) {
		if isTooLong(s, b.cfg.MaxAnswerMemory) {
			r.Status, r.Message = export.StatusProtocolError, (&backend.AnswerMemoryError{LimitBytes: b.cfg.MaxAnswerMemory}).Error()
			return
		}
		r.Code, r.Message = int(s.Code()), b.clipped(s.Message())
		switch {
		case s.Code() == codes.DeadlineExceeded:
			r.Status = export.StatusTimeout
		case s.Code() != codes.Unavailable:
			r.Status = export.StatusRPCError
		case !sent:
			r.Status, r.Message = export.StatusConnectError, b.clipped(b.target.host+": "+s.Message())
		case len(r.Responses) > 0:
			r.Status = export.StatusTruncated
		default:
			r.Status = export.StatusRPCError
		}
		return
	}
	r.Message = b.clipped(brokenText(err, r.FirstByteNS != 0))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		r.Status = export.StatusTimeout
	case !sent:
		r.Status, r.Message = export.StatusConnectError, b.clipped(b.target.host+": "+r.Message)
	case connectionEnded(err):
		r.Status = export.StatusTruncated
	default: // net/http has read something that is not HTTP
		r.Status = export.StatusProtocolError
	}
}
