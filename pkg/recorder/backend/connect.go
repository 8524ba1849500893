package backend

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"syscall"

	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Advice holds the advice for a failed TLS connection, in the words of the command line.
type Advice struct {
	Plain     string // the server does not speak TLS
	Authority string // the server's certificate has no known authority
	Name      string // the certificate is of another server
	Invalid   string // the certificate is invalid: it has expired, for instance
}

// Advice for HTTP and for gRPC.
var (
	HTTPAdvice = Advice{
		Plain:     "use http:// in -u",
		Authority: "give its certificate with --ssl-https-ca-certificates-file, or --ssl-https-verify-peer 0",
		Name:      "use the certificate's name in -u, or give --ssl-https-verify-host 0",
		Invalid:   "--ssl-https-verify-peer 0 takes it all the same",
	}
	GRPCAdvice = Advice{
		Plain:     "drop --ssl-grpc-use-ssl, or use grpc:// in -u",
		Authority: "give its certificate with --ssl-grpc-root-certifications-file",
		Name:      "use the certificate's name in -u",
		Invalid:   "the server needs another",
	}
)

// noSuitableAddress is the text of package net for a local address of another kind than all
// addresses of the server.
const noSuitableAddress = "no suitable address found"

// ConnectMessage describes in one line why connecting failed with err, and what to do. If
// it does not know the kind of err, it returns only the cause, and false.
func ConnectMessage(err error, do Advice) (text string, known bool) {
	var (
		proxy     *ProxyError
		dns       *net.DNSError
		record    tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		timeout   net.Error
		source    *net.AddrError
	)
	if errors.As(err, &proxy) {
		return "proxy " + ProxyName(proxy.Proxy) + ": " + proxyMessage(proxy.Err), true
	}
	if limit := localLimit(err); limit != "" {
		return limit, true
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is the server running, and is -u right?", true
	case errors.As(err, &dns):
		return "no address for host " + dns.Name + "; is its name in -u right?", true
	case errors.As(err, &source) && source.Err == noSuitableAddress:
		return "no way from the source address " + source.Addr + ": the server has no address of its kind; give --source-ip an IPv4 address for IPv4, an IPv6 address for IPv6", true
	case errors.As(err, &record):
		return "the server does not speak TLS; " + do.Plain, true
	case IsAlert(err, "certificate"):
		return Cause(err) + "; give a client certificate that the server accepts", true
	case IsAlert(err, "handshake failure"):
		return Cause(err) + "; the server may want a client certificate, or another version of TLS", true
	case errors.As(err, &host):
		return Cause(err) + "; " + do.Name, true
	case errors.As(err, &authority):
		return Cause(err) + "; " + do.Authority, true
	case errors.As(err, &invalid):
		return Cause(err) + "; " + do.Invalid, true
	case errors.As(err, &timeout) && timeout.Timeout():
		return "no connection in time; is -u right, and no firewall in between?", true
	}
	return Cause(err), false
}

// proxyMessage describes in one line why connecting through a proxy failed.
func proxyMessage(err error) string {
	if limit := localLimit(err); limit != "" {
		return limit
	}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is the proxy running?"
	case errors.As(err, &dns):
		return "no address for host " + dns.Name + "; is the proxy's name right?"
	}
	return Cause(err)
}

// IsAlert reports whether err is a TLS alert of the server whose text contains word.
func IsAlert(err error, word string) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(remote.Err.Error(), word)
}

// Cause returns the text of an error in one line of bounded length, without the addresses
// that package net adds.
func Cause(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return openai.OneLine([]byte(err.Error()))
}

// WithoutHTTPPrefix returns err without the text that net/http puts before its cause.
func WithoutHTTPPrefix(err error) error {
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ") {
		return cause
	}
	return err
}
