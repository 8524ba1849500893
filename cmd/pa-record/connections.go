package main

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/http/httpproxy"

	"github.com/pa-tools/pa/cmd/pa-record/tlsfiles"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
)

// noProxy is the value of --proxy for none.
const noProxy = "none"

// connectionFlags returns the flags for connections, transport and proxy.
func (s *settings) connectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "connection-reuse", Category: catConn, Usage: "each request in flight has its own connection; `WHICH` is reuse (opened by the first request, then kept), prewarm (opened before the load, then kept) or fresh (a new one for each request) (default: reuse; with -i grpc, or more than 128 requests in flight from the start of a level, prewarm)"},
		&cli.IntFlag{Name: "grpc-connections", Category: catConn, Usage: "share `N` gRPC connections instead", DefaultText: " ", Destination: &s.GRPCConnections},
		&cli.StringFlag{Name: "transport", Category: catConn, Usage: "send OpenAI requests with `WHICH` code: loop (a few event loops; Linux, plain HTTP/1.1, no proxy), nethttp, or auto (loop where it can)", Value: openai.Auto.String()},
		&cli.BoolFlag{Name: "http2", Category: catConn, Usage: "send OpenAI requests over HTTP/2; without TLS by prior knowledge", Destination: &s.HTTP2},
		&cli.StringSliceFlag{Name: "source-ip", Category: catConn, Usage: "connect from the local `ADDRESS`, or from several in turn: each has its own ports (repeatable)"},
		&cli.StringFlag{Name: "proxy", Category: catConn, Usage: "go through the proxy at `URL`; none: through none (default: as $HTTP_PROXY, $HTTPS_PROXY and $NO_PROXY say)"},
	}
}

// connections resolves what requests go out on. getenv is os.Getenv but for
// tests.
func (p *parser) connections(s *settings, getenv func(string) string) {
	grpc := s.Protocol == protocolGRPC
	name := p.c.String("connection-reuse")
	if name == "" {
		name = backend.Keep.String()
		if grpc {
			name = backend.Prewarm.String()
		}
	}
	var err error
	s.Reuse, err = backend.ParseReuse(name)
	p.refuse(err != nil, "--connection-reuse %s: expected reuse, fresh or prewarm", name)
	switch {
	case !p.c.IsSet("grpc-connections"):
	case s.GRPCConnections < 1:
		p.errorf("--grpc-connections %d: must be at least 1", s.GRPCConnections)
	case !grpc:
		p.errorf("--grpc-connections needs -i grpc")
	case s.Reuse == backend.Fresh:
		p.errorf("--grpc-connections and --connection-reuse fresh exclude each other; drop one")
	}
	p.sourceIPs(s)
	secured := p.secured(s)
	p.secure(s, secured && !s.simulated())
	if len(s.Servers) > 0 {
		return // see labelled
	}
	if err := p.proxies(s, secured, getenv); err != nil {
		p.errs = append(p.errs, err)
	}
}

// sourceIPs reads --source-ip.
func (p *parser) sourceIPs(s *settings) {
	for _, text := range p.c.StringSlice("source-ip") {
		addr, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			p.errorf("--source-ip %s: expected an IP address of this machine", text)
		case slices.Contains(s.sourceIPs, addr):
			p.errorf("--source-ip %s: given twice", text)
		}
		s.sourceIPs = append(s.sourceIPs, addr)
	}
}

const (
	// fewConnections is the number of connections that may be opened at the same instant:
	// the shortest listen queue that servers commonly have.
	fewConnections = 128
	// opensPerSecond is how many connections all ranks together open to a server in a
	// second before the load. A listen queue of 128 then lasts while the server accepts
	// nothing for an eighth of a second.
	opensPerSecond = 1000
)

// prewarmMany makes connections that all requests would open at the same instant be opened
// before the load, unless --connection-reuse says otherwise. If they overflow the listen
// queue of the server, the kernel tries again after a second, and so the load begins
// raggedly. Connections that cannot be opened fail with their requests, as without this. It
// is for settings with a load and ranks.
func (p *parser) prewarmMany(s *settings) {
	n := s.slotsAtOnce()
	if p.c.IsSet("connection-reuse") || s.Reuse != backend.Keep || n <= fewConnections {
		return
	}
	s.Reuse, s.prewarmOptional = backend.Prewarm, true
	s.note("%s are opened before the load, %s a second (--connection-reuse reuse: each with its first request)",
		plural.GroupedOf(n, "connection"), plural.Grouped(opensPerSecond))
}

// openPerSecond returns how many slots this rank opens in a second before a level; 0 means
// no bound, because none opens a connection.
func (s *settings) openPerSecond() float64 {
	if s.Reuse != backend.Prewarm || s.GRPCConnections > 0 {
		return 0
	}
	rate := float64(opensPerSecond) / float64(max(s.world.Size, 1))
	if s.ServiceKind == kindTriton { // a slot connects to a server once for each model
		rate /= float64(max(len(s.Models), 1))
	}
	return rate
}

// secured reports whether the connections to the servers use TLS.
func (p *parser) secured(s *settings) bool {
	return isSecured(s.rawURLs[0]) || s.Protocol == protocolGRPC && p.c.Bool("ssl-grpc-use-ssl")
}

// Transports of Triton, which cannot be chosen.
const (
	transportNetHTTP = "nethttp"
	transportGRPC    = "grpc"
)

// transport resolves how requests are sent. It is for settings without mistakes.
func (p *parser) transport(s *settings) {
	asked, err := openai.ParseTransport(p.c.String("transport"))
	if err != nil {
		p.errorf("--transport %s: expected auto, loop or nethttp", p.c.String("transport"))
		return
	}
	s.kind().transport(p, s, asked)
}

// tritonTransport sets the transport to a Triton server, which has one for each protocol.
func (p *parser) tritonTransport(s *settings, asked openai.Transport) {
	s.Transport = transportNetHTTP
	if s.Protocol == protocolGRPC {
		s.Transport = transportGRPC
	}
	switch {
	case asked == openai.Loop:
		p.errorf("--transport loop: the event loops read OpenAI's answers only, not Triton's; drop it")
	case asked == openai.NetHTTP && s.Protocol == protocolGRPC:
		p.errorf("--transport nethttp: gRPC has a transport of its own; drop it")
	}
	p.refuse(s.HTTP2, "--http2 belongs to --service-kind openai; Triton's HTTP is HTTP/1.1, its gRPC is HTTP/2 anyway")
}

// openAITransports asks the backends, which are not used, for theirs.
func (p *parser) openAITransports(s *settings, asked openai.Transport) {
	s.openAITransport = asked
	urls := s.rawURLs
	if s.simulated() {
		urls = []string{"http://127.0.0.1:1"} // its address is not known yet
	}
	var all []string
	for _, u := range urls {
		b, err := openai.New(s.openAIConfig(u))
		if err != nil {
			p.errs = append(p.errs, err)
			return
		}
		if name := b.Transport().String(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	s.Transport = strings.Join(all, ", ")
}

// proxies resolves what requests go through.
func (p *parser) proxies(s *settings, secured bool, getenv func(string) string) error {
	flag := p.c.String("proxy")
	if s.simulated() {
		if flag != "" && flag != noProxy {
			return fmt.Errorf("--proxy: a simulated server in this process is not reached through a proxy")
		}
		return nil
	}
	source := "--proxy"
	switch flag {
	case noProxy:
		return nil
	case "":
		source = "the environment; --proxy none goes without"
		env := func(name string) string {
			if v := getenv(name); v != "" {
				return v
			}
			return getenv(strings.ToLower(name))
		}
		c := httpproxy.Config{HTTPProxy: env("HTTP_PROXY"), HTTPSProxy: env("HTTPS_PROXY"), NoProxy: env("NO_PROXY")}
		s.proxy = c.ProxyFunc()
	default:
		u, err := proxyURL(flag)
		if err != nil {
			return err
		}
		s.proxy = func(*url.URL) (*url.URL, error) { return u, nil }
	}
	scheme := "http"
	if secured {
		scheme = "https"
	}
	for _, server := range s.rawURLs {
		u, err := s.proxy(&url.URL{Scheme: scheme, Host: addressOf(server)})
		if err != nil {
			return fmt.Errorf("the proxy in the environment for %s cannot be used; expected http://host:port", redact.URL(server))
		}
		if u == nil {
			continue
		}
		if u.Scheme != "http" && s.Protocol == protocolGRPC {
			return fmt.Errorf("proxy %s: gRPC goes through http:// proxies only; give another, or --proxy none", backend.ProxyName(u))
		}
		shown := backend.ProxyName(u)
		if !slices.Contains(s.Proxies, shown) {
			s.Proxies = append(s.Proxies, shown)
		}
	}
	if len(s.Proxies) > 0 {
		s.warn("requests go through the proxy %s (%s), which adds its time to every figure", strings.Join(s.Proxies, ", "), source)
	}
	return nil
}

// proxyURL reads --proxy. The error shows nothing of it: it may be a password.
func proxyURL(text string) (*url.URL, error) {
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("--proxy: cannot be read; expected http://host:port or none")
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, fmt.Errorf("--proxy: scheme %q; use http, https or socks5", u.Scheme)
	}
	return u, nil
}

// tlsFlags returns perf_analyzer's TLS flags: one group for gRPC and one for HTTP, which
// here also applies to OpenAI servers.
func tlsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "ssl-grpc-use-ssl", Category: catTLS, Usage: "gRPC over TLS, as grpcs:// in -u"},
		readsFile(&cli.StringFlag{Name: "ssl-grpc-root-certifications-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"}),
		readsFile(&cli.StringFlag{Name: "ssl-grpc-private-key-file", Category: catTLS, Usage: "PEM private key of the client in `FILE`"}),
		readsFile(&cli.StringFlag{Name: "ssl-grpc-certificate-chain-file", Category: catTLS, Usage: "PEM certificate chain of the client in `FILE`"}),
		&cli.IntFlag{Name: "ssl-https-verify-peer", Category: catTLS, Usage: "verify who issued the server's certificate: `0|1`", Value: 1},
		&cli.IntFlag{Name: "ssl-https-verify-host", Category: catTLS, Usage: "verify the name in the server's certificate: `0|1|2`; 1 means 2", Value: 2},
		readsFile(&cli.StringFlag{Name: "ssl-https-ca-certificates-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"}),
		readsFile(&cli.StringFlag{Name: "ssl-https-client-certificate-file", Category: catTLS, Usage: "certificate of the client in `FILE`"}),
		&cli.StringFlag{Name: "ssl-https-client-certificate-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: tlsfiles.PEM},
		readsFile(&cli.StringFlag{Name: "ssl-https-private-key-file", Category: catTLS, Usage: "private key of the client in `FILE`; if not given, from the certificate's"}),
		&cli.StringFlag{Name: "ssl-https-private-key-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: tlsfiles.PEM},
	}
}

// secure reads the TLS flags that belong to the protocol of s, for a connection
// that is secured or is not. The configuration is for s.tls only when secured.
func (p *parser) secure(s *settings, secured bool) {
	group, other := "ssl-https-", "ssl-grpc-"
	if s.Protocol == protocolGRPC {
		group, other = other, group
	}
	var given []string
	for _, f := range tlsFlags() {
		name := f.Names()[0]
		switch {
		case !p.c.IsSet(name) || name == "ssl-grpc-use-ssl" && !p.c.Bool(name):
		case strings.HasPrefix(name, other):
			s.note("--%s has no effect: it is for %s", name, map[string]string{"ssl-https-": "HTTP", "ssl-grpc-": "-i grpc"}[other])
		case strings.HasPrefix(name, group):
			given = append(given, name)
		}
	}
	f, checks := p.tlsFiles(s)
	if !secured {
		for _, name := range given {
			how := "give -u https://…"
			if s.Protocol == protocolGRPC {
				how = "add --ssl-grpc-use-ssl"
			}
			s.note("--%s has no effect without TLS; %s", name, how)
		}
		return
	}
	cfg, err := f.Config()
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	s.tls = cfg
	s.TLS = &tlsSettings{
		CA: f.CA.Path, Certificate: f.Certificate.Path, Key: f.Key.Path,
		VerifyPeer: checks.Peer, VerifyHost: checks.Host,
	}
	switch {
	case !checks.Peer && !checks.Host:
		s.warn("the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0, --ssl-https-verify-host 0)")
	case !checks.Peer:
		s.warn("who issued the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0)")
	case !checks.Host:
		s.warn("the name in the server's certificate is not verified (--ssl-https-verify-host 0)")
	}
}

// tlsSettings is the part of the export about TLS.
type tlsSettings struct {
	CA          string `json:"ca_certificates_file,omitempty"`
	Certificate string `json:"client_certificate_file,omitempty"`
	Key         string `json:"private_key_file,omitempty"`
	VerifyPeer  bool   `json:"verify_peer"`
	VerifyHost  bool   `json:"verify_host"`
}

// tlsFiles reads the flags of the protocol of s.
func (p *parser) tlsFiles(s *settings) (*tlsfiles.Files, tlsfiles.Checks) {
	file := func(name string) tlsfiles.File { return tlsfiles.File{Flag: name, Path: p.c.String(name)} }
	if s.Protocol == protocolGRPC {
		return &tlsfiles.Files{
			CA: file("ssl-grpc-root-certifications-file"), Certificate: file("ssl-grpc-certificate-chain-file"), Key: file("ssl-grpc-private-key-file"),
			CertificateFormat: tlsfiles.PEM, KeyFormat: tlsfiles.PEM,
		}, tlsfiles.Checks{Peer: true, Host: true}
	}
	format := func(name string) string {
		value := strings.ToUpper(p.c.String(name))
		p.refuse(value != tlsfiles.PEM && value != tlsfiles.DER, "--%s %s: expected PEM or DER", name, p.c.String(name))
		return value
	}
	verify := func(name string, most int) bool {
		n := p.c.Int(name)
		p.refuse(n < 0 || n > most, "--%s %d: must be 0 to %d", name, n, most)
		return n != 0
	}
	return &tlsfiles.Files{
		CA: file("ssl-https-ca-certificates-file"), Certificate: file("ssl-https-client-certificate-file"), Key: file("ssl-https-private-key-file"),
		CertificateFormat: format("ssl-https-client-certificate-type"), KeyFormat: format("ssl-https-private-key-type"), KeyInCertificate: true,
	}, tlsfiles.Checks{Peer: verify("ssl-https-verify-peer", 1), Host: verify("ssl-https-verify-host", 2)}
}
