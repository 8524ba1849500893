package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/pa-tools/pa/internal/regular"
)

// Formats of certificates and keys, as perf_analyzer spells them.
const (
	formatPEM = "PEM"
	formatDER = "DER"
)

// tlsFlags are perf_analyzer's: one group for gRPC, one for HTTP, which here
// applies to OpenAI servers too.
func tlsFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "ssl-grpc-use-ssl", Category: catTLS, Usage: "gRPC over TLS, as grpcs:// in -u"},
		&cli.StringFlag{Name: "ssl-grpc-root-certifications-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"},
		&cli.StringFlag{Name: "ssl-grpc-private-key-file", Category: catTLS, Usage: "PEM private key of the client in `FILE`"},
		&cli.StringFlag{Name: "ssl-grpc-certificate-chain-file", Category: catTLS, Usage: "PEM certificate chain of the client in `FILE`"},
		&cli.IntFlag{Name: "ssl-https-verify-peer", Category: catTLS, Usage: "verify who issued the server's certificate: `0|1`", Value: 1},
		&cli.IntFlag{Name: "ssl-https-verify-host", Category: catTLS, Usage: "verify the name in the server's certificate: `0|1|2`, 1 being 2", Value: 2},
		&cli.StringFlag{Name: "ssl-https-ca-certificates-file", Category: catTLS, Usage: "trust the PEM certificates in `FILE` instead of the system's"},
		&cli.StringFlag{Name: "ssl-https-client-certificate-file", Category: catTLS, Usage: "certificate of the client in `FILE`"},
		&cli.StringFlag{Name: "ssl-https-client-certificate-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: formatPEM},
		&cli.StringFlag{Name: "ssl-https-private-key-file", Category: catTLS, Usage: "private key of the client in `FILE`; if not given, from the certificate's"},
		&cli.StringFlag{Name: "ssl-https-private-key-type", Category: catTLS, Usage: "its `FORMAT`: PEM or DER", Value: formatPEM},
	}
}

// tlsFiles name what a connection is secured with, by flag and path; "" is
// none.
type tlsFiles struct {
	ca, certificate, key           namedFile
	certificateFormat, keyFormat   string
	skipPeer, skipHost, keyFromOne bool // keyFromOne: without a key's file it is in the certificate's
}

// A namedFile is the value of a flag.
type namedFile struct{ flag, path string }

func (f namedFile) errorf(format string, args ...any) error {
	return fmt.Errorf("--%s: %s: "+format, append([]any{f.flag, f.path}, args...)...)
}

// read reads the file. The error names flag and file.
func (f namedFile) read() ([]byte, error) {
	text, err := regular.ReadFile(context.Background(), f.path, maxKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", f.flag, err) // names the path
	}
	return text, nil
}

// secure reads the TLS flags that belong to the protocol of s, for a connection
// that is secured or is not. The configuration is for s.tls only when secured.
func (p *settingsParser) secure(s *settings, secured bool) {
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
	f := p.tlsFiles(s)
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
	cfg, err := f.config()
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	s.tls = cfg
	s.TLS = &tlsSettings{
		CA: f.ca.path, Certificate: f.certificate.path, Key: f.key.path,
		VerifyPeer: !f.skipPeer, VerifyHost: !f.skipHost,
	}
	switch {
	case f.skipPeer && f.skipHost:
		s.warn("the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0, --ssl-https-verify-host 0)")
	case f.skipPeer:
		s.warn("who issued the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0)")
	case f.skipHost:
		s.warn("the name in the server's certificate is not verified (--ssl-https-verify-host 0)")
	}
}

// tlsSettings is what the export says of TLS.
type tlsSettings struct {
	CA          string `json:"ca_certificates_file,omitempty"`
	Certificate string `json:"client_certificate_file,omitempty"`
	Key         string `json:"private_key_file,omitempty"`
	VerifyPeer  bool   `json:"verify_peer"`
	VerifyHost  bool   `json:"verify_host"`
}

// tlsFiles reads the flags of the protocol of s.
func (p *settingsParser) tlsFiles(s *settings) *tlsFiles {
	file := func(name string) namedFile { return namedFile{name, p.c.String(name)} }
	if s.Protocol == protocolGRPC {
		return &tlsFiles{
			ca: file("ssl-grpc-root-certifications-file"), certificate: file("ssl-grpc-certificate-chain-file"), key: file("ssl-grpc-private-key-file"),
			certificateFormat: formatPEM, keyFormat: formatPEM,
		}
	}
	format := func(name string) string {
		value := strings.ToUpper(p.c.String(name))
		if value != formatPEM && value != formatDER {
			p.errorf("--%s %s: the format is PEM or DER", name, p.c.String(name))
		}
		return value
	}
	number := func(name string, most int) bool {
		n := p.c.Int(name)
		if n < 0 || n > most {
			p.errorf("--%s %d: must be 0 to %d", name, n, most)
		}
		return n == 0
	}
	return &tlsFiles{
		ca: file("ssl-https-ca-certificates-file"), certificate: file("ssl-https-client-certificate-file"), key: file("ssl-https-private-key-file"),
		certificateFormat: format("ssl-https-client-certificate-type"), keyFormat: format("ssl-https-private-key-type"),
		skipPeer: number("ssl-https-verify-peer", 1), skipHost: number("ssl-https-verify-host", 2), keyFromOne: true,
	}
}

// config reads the files. The error names flag and file.
func (f *tlsFiles) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca.path != "" {
		text, err := f.ca.read()
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, f.ca.errorf("no certificate in it; expected PEM, -----BEGIN CERTIFICATE-----")
		}
	}
	if f.certificate.path != "" || f.key.path != "" {
		own, err := f.own()
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	return cfg, nil
}

// tlsFor returns the configuration for connections to a host, nil for the
// default.
func (s *settings) tlsFor(host string) *tls.Config {
	if s.tls == nil || s.TLS.VerifyPeer && s.TLS.VerifyHost {
		return s.tls
	}
	cfg := s.tls.Clone()
	cfg.InsecureSkipVerify = true // VerifyConnection checks what is to be checked
	cfg.VerifyConnection = s.TLS.verifier(cfg.RootCAs, host)
	return cfg
}

// verifier checks the half of a server's certificate that is to be checked.
func (t *tlsSettings) verifier(roots *x509.CertPool, host string) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		leaf := cs.PeerCertificates[0] // a server always has one
		if t.VerifyHost {
			name := cs.ServerName
			if name == "" { // an address is not sent to the server
				name = host
			}
			if err := leaf.VerifyHostname(name); err != nil {
				return err
			}
		}
		if !t.VerifyPeer {
			return nil
		}
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range cs.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		_, err := leaf.Verify(options)
		return err
	}
}

// own reads the client's certificate and key.
func (f *tlsFiles) own() (tls.Certificate, error) {
	var c tls.Certificate
	key, keyFormat := f.key, f.keyFormat
	switch {
	case f.certificate.path == "":
		return c, fmt.Errorf("--%s needs --%s", f.key.flag, f.certificate.flag)
	case key.path == "" && !f.keyFromOne:
		return c, fmt.Errorf("--%s needs --%s", f.certificate.flag, f.key.flag)
	case key.path == "" && f.certificateFormat == formatDER:
		return c, fmt.Errorf("--%s needs --%s: a DER file holds no key beside the certificate", f.certificate.flag, f.key.flag)
	case key.path == "":
		key, keyFormat = f.certificate, formatPEM
	}
	text, err := f.certificate.read()
	if err != nil {
		return c, err
	}
	if c.Certificate, err = certificates(text, f.certificateFormat); err != nil {
		return c, f.certificate.errorf("%w", err)
	}
	if text, err = key.read(); err != nil {
		return c, err
	}
	private, err := privateKey(text, keyFormat, key.path)
	if err != nil {
		return c, key.errorf("%w", err)
	}
	c.PrivateKey = private
	if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
		return c, f.certificate.errorf("%w", err)
	}
	public, ok := c.Leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(private.Public()) {
		return c, key.errorf("it is not the key of the certificate in %s", f.certificate.path)
	}
	return c, nil
}

// certificates returns a chain as DER.
func certificates(text []byte, format string) (chain [][]byte, err error) {
	if format == formatDER {
		if _, err := x509.ParseCertificate(text); err != nil {
			return nil, expected(text, format, "a certificate")
		}
		return [][]byte{text}, nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			chain = append(chain, block.Bytes)
		}
	}
	if len(chain) == 0 {
		return nil, expected(text, format, "a certificate")
	}
	return chain, nil
}

// expected says that there is no such thing in the file, and whether the other
// format would do.
func expected(text []byte, format, what string) error {
	isPEM := bytes.Contains(text, []byte("-----BEGIN"))
	switch {
	case format == formatDER && isPEM:
		return fmt.Errorf("expected %s as DER; this is PEM", what)
	case format == formatPEM && !isPEM:
		return fmt.Errorf("expected %s as PEM; this is something else, DER perhaps", what)
	}
	return fmt.Errorf("no %s in it; expected one as %s", strings.TrimPrefix(what, "a "), format)
}

// privateKey reads the first private key. path is for what to do about one that
// is encrypted.
func privateKey(text []byte, format, path string) (crypto.Signer, error) {
	encrypted := fmt.Errorf("the private key is encrypted; decrypt it: openssl pkey -in %s -out KEY.pem", path)
	if format == formatDER {
		switch {
		case isEncrypted(text):
			return nil, fmt.Errorf("the private key is encrypted; decrypt it: openssl pkey -inform DER -in %s -outform DER -out KEY.der", path)
		case bytes.Contains(text, []byte("-----BEGIN")):
			return nil, expected(text, format, "a private key")
		}
		return parseKey(text)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, encrypted
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return parseKey(block.Bytes)
		}
	}
	return nil, expected(text, format, "a private key")
}

// isEncrypted reports whether DER is an EncryptedPrivateKeyInfo (RFC 5958).
func isEncrypted(der []byte) bool {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	rest, err := asn1.Unmarshal(der, &info)
	return err == nil && len(rest) == 0
}

// parseKey reads PKCS #8, PKCS #1 and SEC 1.
func parseKey(der []byte) (crypto.Signer, error) {
	any8, err := x509.ParsePKCS8PrivateKey(der)
	if err == nil {
		if key, ok := any8.(crypto.Signer); ok {
			return key, nil
		}
		return nil, errors.New("the private key is of a kind that TLS has no use for")
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("the private key cannot be read; expected PKCS #8, PKCS #1 or SEC 1")
}
