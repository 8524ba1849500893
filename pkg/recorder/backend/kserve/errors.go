package kserve

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pa-tools/pa/pkg/export"
)

// errProtocol marks bytes that are not what the protocol says.
var errProtocol = errors.New("the message is not a ModelStreamInferResponse")

// errNotServed marks an answer of the right protocol that says that there is
// no such service.
var errNotServed = errors.New("the server does not speak KServe v2")

// maxMessage bounds the text kept of an error, in bytes.
const maxMessage = 1024

// clip bounds text of the server and makes it one line.
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

// An rpcError is a gRPC status as an error of one line that unwraps to the
// error of the dialer, where there was one.
type rpcError struct {
	status *status.Status
	dial   error
}

func (e *rpcError) Error() string {
	if e.status.Code() == codes.Unknown || e.status.Message() != "" {
		return clip(e.status.Message())
	}
	return "gRPC status " + e.status.Code().String()
}

func (e *rpcError) Unwrap() error { return e.dial }

// fail records in r why a request did not end well. sent says that the request
// may have reached the server.
func fail(ctx context.Context, r *export.Request, err error, sent bool) {
	switch ctx.Err() {
	case nil:
	case context.DeadlineExceeded:
		r.Status, r.Message = export.StatusTimeout, "no complete answer within the request's time limit"
		return
	default:
		r.Status, r.Message = export.StatusCancelled, "cancelled"
		return
	}
	r.Message = clip(err.Error())
	if errors.Is(err, errProtocol) {
		r.Status = export.StatusProtocolError
		return
	}
	if text := connectText(err); text != "" && !sent {
		r.Status = export.StatusConnectError
		return
	}
	if s, ok := status.FromError(err); ok && !errors.Is(err, io.EOF) {
		r.Code, r.Message = int(s.Code()), clip(s.Message())
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
