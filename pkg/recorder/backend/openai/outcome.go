package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/http1"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A dialError reports that connecting failed.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// A noAnswerError reports that a connection ended before the first byte of an answer.
type noAnswerError struct{ err error }

func (e *noAnswerError) Error() string { return "closed without an answer: " + backend.Cause(e.err) }
func (e *noAnswerError) Unwrap() error { return e.err }

// notHTTP describes in one line an answer that does not begin like HTTP/1; first is its
// beginning.
func notHTTP(first string) string {
	switch {
	case strings.HasPrefix(first, "\x15\x03"), strings.HasPrefix(first, "\x16\x03"):
		return "the server speaks TLS; use https:// in -u"
	case len(first) > 3 && first[:2] == "\x00\x00" && first[3] == 4:
		return "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u"
	}
	return fmt.Sprintf("the server does not speak HTTP: its answer begins with %q; is -u right?", first)
}

// A tooLongError reports that the body of an error is longer than allowed.
type tooLongError struct{ limit int64 }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the answer is longer than %d bytes", e.limit)
}

// A givenUpError reports that the context was done before the answer was complete.
type givenUpError struct{ cause error }

func (e *givenUpError) Error() string { return "given up: " + e.cause.Error() }
func (e *givenUpError) Unwrap() error { return e.cause }

func isGivenUp(err error) bool {
	var e *givenUpError
	return errors.As(err, &e)
}

// giveUp returns err, or a *givenUpError if ctx is done and the answer is not complete,
// because err is then a consequence.
func giveUp(ctx context.Context, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // wrapped, it is no end of a body
		return err
	}
	if cause := contextErr(ctx); cause != nil {
		return &givenUpError{cause}
	}
	return err
}

// classify returns the status and the message of a failed exchange:
//
//	timeout, cancelled  the context is done, whatever else failed
//	connect_error       no connection: address, port, TLS
//	truncated           the connection broke before the end of the answer
//	protocol_error      the answer is not HTTP/1, or too long
func classify(t *target, err error) (export.Status, string) {
	if isGivenUp(err) {
		if errors.Is(err, context.DeadlineExceeded) {
			return export.StatusTimeout, "no complete answer in the time allowed"
		}
		return export.StatusCancelled, "given up before the answer was complete"
	}
	if dialErr, ok := errors.AsType[*dialError](err); ok {
		return export.StatusConnectError, t.url + ": " + connectMessage(dialErr.err)
	}
	var opErr *net.OpError
	if _, ok := errors.AsType[*noAnswerError](err); ok {
		if errors.As(err, &opErr) && opErr.Op == "remote error" {
			// With TLS 1.3 the client goes on before the server has verified its certificate.
			return export.StatusConnectError, t.url + ": " + connectMessage(opErr)
		}
		return export.StatusTruncated, "the connection was " + err.Error()
	}
	if reset, ok := errors.AsType[*resetError](err); ok {
		return export.StatusTruncated, "the answer broke off: " + reset.why
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &opErr) {
		return export.StatusTruncated, "the connection broke before the end of the answer: " + backend.Cause(err)
	}
	if other, ok := errors.AsType[*http1.NotHTTPError](err); ok {
		return export.StatusProtocolError, notHTTP(other.First)
	}
	return export.StatusProtocolError, openai.OneLine([]byte(err.Error()))
}

// contextErr returns ctx.Err(), or context.DeadlineExceeded if the deadline has passed and
// the context has not noticed yet.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// connectMessage describes a failed connection in one line, and what to do.
func connectMessage(err error) string {
	text, _ := backend.ConnectMessage(err, backend.HTTPAdvice)
	return text
}
