package settings

import (
	"crypto/tls"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/tlsfiles"
)

// tlsFlags returns perf_analyzer's TLS flags: one group for gRPC and one for HTTP, which
// here also applies to OpenAI servers.
func tlsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "ssl-grpc-use-ssl", Category: catTLS, Usage: "gRPC over TLS, as grpcs:// in -u"},
		readsFile(&cli.StringFlag{Name: "ssl-grpc-root-certifications-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"}),
		readsFile(&cli.StringFlag{Name: "ssl-grpc-private-key-file", Category: catTLS, Usage: "PEM private key of the client in `FILE`"}),
		readsFile(&cli.StringFlag{Name: "ssl-grpc-certificate-chain-file", Category: catTLS, Usage: "PEM certificate chain of the client in `FILE`"}),
		&cli.IntFlag{Name: "ssl-https-verify-peer", Category: catTLS, Usage: "verify who issued the server's certificate: `0|1`", Value: 1},
		&cli.IntFlag{Name: "ssl-https-verify-host", Category: catTLS, Usage: "verify the name in the server's certificate: `0|1|2`, 1 being 2", Value: 2},
		readsFile(&cli.StringFlag{Name: "ssl-https-ca-certificates-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"}),
		readsFile(&cli.StringFlag{Name: "ssl-https-client-certificate-file", Category: catTLS, Usage: "certificate of the client in `FILE`"}),
		&cli.StringFlag{Name: "ssl-https-client-certificate-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: tlsfiles.PEM},
		readsFile(&cli.StringFlag{Name: "ssl-https-private-key-file", Category: catTLS, Usage: "private key of the client in `FILE`; if not given, from the certificate's"}),
		&cli.StringFlag{Name: "ssl-https-private-key-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: tlsfiles.PEM},
	}
}

// secure reads the TLS flags that belong to the protocol of s, for a connection
// that is secured or is not. The configuration is for s.tls only when secured.
func (p *parser) secure(s *Settings, secured bool) {
	group, other := "ssl-https-", "ssl-grpc-"
	if s.Protocol == GRPC {
		group, other = other, group
	}
	var given []string
	for _, f := range tlsFlags() {
		name := f.Names()[0]
		switch {
		case !p.c.IsSet(name) || name == "ssl-grpc-use-ssl" && !p.c.Bool(name):
		case strings.HasPrefix(name, other):
			s.Note("--%s has no effect: it is for %s", name, map[string]string{"ssl-https-": "HTTP", "ssl-grpc-": "-i grpc"}[other])
		case strings.HasPrefix(name, group):
			given = append(given, name)
		}
	}
	f, checks := p.tlsFiles(s)
	if !secured {
		for _, name := range given {
			how := "give -u https://…"
			if s.Protocol == GRPC {
				how = "add --ssl-grpc-use-ssl"
			}
			s.Note("--%s has no effect without TLS; %s", name, how)
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
		s.Warn("the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0, --ssl-https-verify-host 0)")
	case !checks.Peer:
		s.Warn("who issued the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0)")
	case !checks.Host:
		s.Warn("the name in the server's certificate is not verified (--ssl-https-verify-host 0)")
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
func (p *parser) tlsFiles(s *Settings) (*tlsfiles.Files, tlsfiles.Checks) {
	file := func(name string) tlsfiles.File { return tlsfiles.File{Flag: name, Path: p.c.String(name)} }
	if s.Protocol == GRPC {
		return &tlsfiles.Files{
			CA: file("ssl-grpc-root-certifications-file"), Certificate: file("ssl-grpc-certificate-chain-file"), Key: file("ssl-grpc-private-key-file"),
			CertificateFormat: tlsfiles.PEM, KeyFormat: tlsfiles.PEM,
		}, tlsfiles.Checks{Peer: true, Host: true}
	}
	format := func(name string) string {
		value := strings.ToUpper(p.c.String(name))
		if value != tlsfiles.PEM && value != tlsfiles.DER {
			p.errorf("--%s %s: the format is PEM or DER", name, p.c.String(name))
		}
		return value
	}
	verify := func(name string, most int) bool {
		n := p.c.Int(name)
		if n < 0 || n > most {
			p.errorf("--%s %d: must be 0 to %d", name, n, most)
		}
		return n != 0
	}
	return &tlsfiles.Files{
		CA: file("ssl-https-ca-certificates-file"), Certificate: file("ssl-https-client-certificate-file"), Key: file("ssl-https-private-key-file"),
		CertificateFormat: format("ssl-https-client-certificate-type"), KeyFormat: format("ssl-https-private-key-type"), KeyInCertificate: true,
	}, tlsfiles.Checks{Peer: verify("ssl-https-verify-peer", 1), Host: verify("ssl-https-verify-host", 2)}
}

// TLSFor returns the configuration for connections to a host, nil for the
// default.
func (s *Settings) TLSFor(host string) *tls.Config {
	if s.tls == nil {
		return nil
	}
	return tlsfiles.Checks{Peer: s.TLS.VerifyPeer, Host: s.TLS.VerifyHost}.Config(s.tls, host)
}
