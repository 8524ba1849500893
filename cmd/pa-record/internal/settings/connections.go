package settings

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/net/http/httpproxy"

	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/internal/redact"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
)

// noProxy is the value of --proxy for none.
const noProxy = "none"

// connectionFlags returns the flags for connections, transport and proxy.
func connectionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "connection-reuse", Category: catConn, Usage: "each request in flight has its own connection; `WHICH` is reuse: kept, and opened by the first request; prewarm: opened before the load; fresh: a new one for each request (default: reuse; with -i grpc, or more than 128 requests in flight from the start of a level, prewarm)"},
		&cli.IntFlag{Name: "grpc-connections", Category: catConn, Usage: "share `N` gRPC connections instead", DefaultText: " "},
		&cli.StringFlag{Name: "transport", Category: catConn, Usage: "how OpenAI requests are sent: `WHICH` is loop: a few event loops, Linux, plain HTTP/1.1 without a proxy; nethttp; or auto: loop where it applies", Value: openai.Auto.String()},
		&cli.BoolFlag{Name: "http2", Category: catConn, Usage: "OpenAI requests over HTTP/2; without TLS by prior knowledge"},
		&cli.StringSliceFlag{Name: "source-ip", Category: catConn, Usage: "connect from the local `ADDRESS`, or from several in turn: each has its own ports (repeatable)"},
		&cli.StringFlag{Name: "proxy", Category: catConn, Usage: "go through the proxy at `URL`; none: through none (default: as $HTTP_PROXY, $HTTPS_PROXY and $NO_PROXY say)"},
	}
}

// connections resolves what requests go out on. getenv is os.Getenv but for
// tests.
func (p *parser) connections(s *Settings, getenv func(string) string) {
	grpc := s.Protocol == GRPC
	name := p.c.String("connection-reuse")
	if name == "" {
		name = backend.Keep.String()
		if grpc {
			name = backend.Prewarm.String()
		}
	}
	var err error
	if s.ReuseMode, err = backend.ParseReuse(name); err != nil {
		p.errorf("--connection-reuse %s: it is reuse, fresh or prewarm", name)
	}
	s.Reuse = s.ReuseMode.String()
	s.GRPCConnections = p.c.Int("grpc-connections")
	switch {
	case !p.c.IsSet("grpc-connections"):
	case s.GRPCConnections < 1:
		p.errorf("--grpc-connections %d: must be at least 1", s.GRPCConnections)
	case !grpc:
		p.errorf("--grpc-connections needs -i grpc")
	case s.ReuseMode == backend.Fresh:
		p.errorf("--grpc-connections and --connection-reuse fresh exclude each other; drop one")
	}
	p.sourceIPs(s)
	secured := p.secured(s)
	p.secure(s, secured && !s.Simulated())
	if len(s.Servers) > 0 {
		return // see labelled
	}
	if err := p.proxies(s, secured, getenv); err != nil {
		p.errs = append(p.errs, err)
	}
}

// sourceIPs reads --source-ip.
func (p *parser) sourceIPs(s *Settings) {
	for _, text := range p.c.StringSlice("source-ip") {
		addr, err := netip.ParseAddr(text)
		switch {
		case err != nil:
			p.errorf("--source-ip %s: expected an IP address of this machine", text)
		case slices.Contains(s.SourceIPs, addr):
			p.errorf("--source-ip %s: given twice", text)
		}
		s.SourceIPs = append(s.SourceIPs, addr)
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
func (p *parser) prewarmMany(s *Settings) {
	n := s.slotsAtOnce()
	if p.c.IsSet("connection-reuse") || s.ReuseMode != backend.Keep || n <= fewConnections {
		return
	}
	s.ReuseMode, s.Reuse, s.PrewarmOptional = backend.Prewarm, backend.Prewarm.String(), true
	s.Note("%s are opened before the load, %s a second (--connection-reuse reuse: each with its first request)",
		plural.GroupedOf(n, "connection"), plural.Grouped(opensPerSecond))
}

// OpenPerSecond returns how many slots this rank opens in a second before a level; 0 means
// no bound, because none opens a connection.
func (s *Settings) OpenPerSecond() float64 {
	if s.ReuseMode != backend.Prewarm || s.GRPCConnections > 0 {
		return 0
	}
	rate := float64(opensPerSecond) / float64(max(s.World.Size, 1))
	if s.ServiceKind == Triton { // a slot connects to a server once for each model
		rate /= float64(max(len(s.Models), 1))
	}
	return rate
}

// secured reports whether the connections to the servers use TLS.
func (p *parser) secured(s *Settings) bool {
	return isSecured(s.RawURLs[0]) || s.Protocol == GRPC && p.c.Bool("ssl-grpc-use-ssl")
}

// Transports of Triton, which cannot be chosen.
const (
	TransportNetHTTP = "nethttp"
	transportGRPC    = "grpc"
)

// transport resolves how requests are sent. It is for settings without mistakes.
func (p *parser) transport(s *Settings) {
	asked, err := openai.ParseTransport(p.c.String("transport"))
	if err != nil {
		p.errorf("--transport %s: it is auto, loop or nethttp", p.c.String("transport"))
		return
	}
	s.HTTP2 = p.c.Bool("http2")
	if s.ServiceKind == OpenAI {
		s.openAITransport = asked
		p.openAITransports(s)
		return
	}
	s.Transport = TransportNetHTTP
	if s.Protocol == GRPC {
		s.Transport = transportGRPC
	}
	switch {
	case asked == openai.Loop:
		p.errorf("--transport loop: the event loops know OpenAI's answers only, not Triton's; drop it")
	case asked == openai.NetHTTP && s.Protocol == GRPC:
		p.errorf("--transport nethttp: gRPC has a transport of its own; drop it")
	}
	if s.HTTP2 {
		p.errorf("--http2 belongs to --service-kind openai; Triton's HTTP is HTTP/1.1, its gRPC is HTTP/2 anyway")
	}
}

// openAITransports asks the backends, which are not used, for theirs.
func (p *parser) openAITransports(s *Settings) {
	urls := s.RawURLs
	if s.Simulated() {
		urls = []string{"http://127.0.0.1:1"} // its address is not known yet
	}
	var all []string
	for _, u := range urls {
		b, err := openai.New(s.OpenAIConfig(u))
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
func (p *parser) proxies(s *Settings, secured bool, getenv func(string) string) error {
	flag := p.c.String("proxy")
	if s.Simulated() {
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
		s.Proxy = c.ProxyFunc()
	default:
		u, err := proxyURL(flag)
		if err != nil {
			return err
		}
		s.Proxy = func(*url.URL) (*url.URL, error) { return u, nil }
	}
	scheme := "http"
	if secured {
		scheme = "https"
	}
	for _, server := range s.RawURLs {
		u, err := s.Proxy(&url.URL{Scheme: scheme, Host: AddressOf(server)})
		if err != nil {
			return fmt.Errorf("the proxy in the environment for %s cannot be used; expected http://host:port", redact.URL(server))
		}
		if u == nil {
			continue
		}
		if u.Scheme != "http" && s.Protocol == GRPC {
			return fmt.Errorf("proxy %s: gRPC goes through http:// proxies only; give another, or --proxy none", backend.ProxyName(u))
		}
		shown := backend.ProxyName(u)
		if !slices.Contains(s.Proxies, shown) {
			s.Proxies = append(s.Proxies, shown)
		}
	}
	if len(s.Proxies) > 0 {
		s.Warn("requests go through the proxy %s (%s): its time is in every figure", strings.Join(s.Proxies, ", "), source)
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

// OpenAIConfig returns the configuration of the backend for the OpenAI server at url.
func (s *Settings) OpenAIConfig(url string) openai.Config {
	cfg := openai.Config{
		URL: url, Endpoint: s.rawEndpoint, Model: s.Model, Models: s.MoreModels(), Streaming: s.Streaming, Render: s.RenderOptions(), ExtraBody: s.ExtraBody, Bodies: s.Bodies,
		HistoryReasoning: s.historyReasoning(),
		TLS:              s.TLSFor(HostOf(url)), Transport: s.openAITransport, HTTP2: s.HTTP2, Reuse: s.ReuseMode, PrewarmOptional: s.PrewarmOptional, Proxy: s.Proxy,
		MaxAnswerMemory: s.MaxAnswerMemory, Sources: backend.NewSources(s.SourceIPs),
	}
	for _, h := range s.Headers {
		cfg.Headers = append(cfg.Headers, openai.Header{Name: h.Name, Value: h.Value})
	}
	return cfg
}
