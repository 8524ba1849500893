package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// A dialError says that no connection came about.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// A noAnswerError says that a connection ended before the first byte of an
// answer.
type noAnswerError struct{ err error }

func (e *noAnswerError) Error() string { return "closed without an answer: " + plain(e.err) }
func (e *noAnswerError) Unwrap() error { return e.err }

func isNoAnswer(err error) bool {
	var e *noAnswerError
	return errors.As(err, &e)
}

// A notHTTPError says that an answer does not begin like HTTP/1.
type notHTTPError struct{ first string }

func (e *notHTTPError) Error() string {
	switch {
	case strings.HasPrefix(e.first, "\x15\x03"), strings.HasPrefix(e.first, "\x16\x03"):
		return "the server speaks TLS; use https:// in -u"
	case len(e.first) > 3 && e.first[:2] == "\x00\x00" && e.first[3] == 4:
		return "the server speaks HTTP/2, so this is probably a gRPC port; give its HTTP port with -u"
	}
	return fmt.Sprintf("the server does not speak HTTP: its answer begins with %q; is -u right?", e.first)
}

// A tooLongError says that an answer is longer than allowed.
type tooLongError struct{ limit int64 }

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the answer is longer than %d bytes", e.limit)
}

// classify returns the status and the message of a failed exchange:
//
//	timeout, cancelled  the context is done, whatever else went wrong
//	connect_error       no connection: address, port, TLS
//	truncated           the connection broke before the end of the answer
//	protocol_error      what came is not HTTP/1, or too much
func classify(ctx context.Context, t *target, err error) (export.Status, string) {
	switch cause := contextErr(ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return export.StatusTimeout, "no complete answer in the time allowed"
	case cause != nil:
		return export.StatusCancelled, "given up before the answer was complete"
	}
	var dialErr *dialError
	if errors.As(err, &dialErr) {
		return export.StatusConnectError, t.url + ": " + connectMessage(dialErr.err)
	}
	if isNoAnswer(err) {
		return export.StatusTruncated, "the connection was " + err.Error()
	}
	var opErr *net.OpError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &opErr) {
		return export.StatusTruncated, "the connection broke before the end of the answer: " + plain(err)
	}
	return export.StatusProtocolError, openai.OneLine([]byte(err.Error()))
}

// contextErr returns ctx.Err(), also in the moment in which a network
// operation has met the deadline and the context has not yet.
func contextErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// connectMessage says in one line why there is no connection and what to do.
func connectMessage(err error) string {
	var (
		dns       *net.DNSError
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is the server running, and is -u right?"
	case errors.As(err, &dns):
		return "no address for host " + dns.Name + "; is its name in -u right?"
	case errors.As(err, &record):
		return "the server does not speak TLS; use http:// in -u"
	case errors.As(err, &authority), errors.As(err, &host), errors.As(err, &invalid):
		return plain(err) + "; give the authority's certificate, or switch the check off"
	case isTimeout(err):
		return "no connection in time; is -u right, and no firewall in between?"
	}
	return plain(err)
}

// plain returns an error's text without the addresses that package net puts
// around the cause.
func plain(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return openai.OneLine([]byte(err.Error()))
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

// withoutQuery returns a URL without what may be secret.
func withoutQuery(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a URL that cannot be read"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return openai.OneLine([]byte(u.String()))
}
