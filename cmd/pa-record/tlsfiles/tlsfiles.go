package tlsfiles

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

	"github.com/pa-tools/pa/internal/disk"
)

// Formats of certificates and keys.
const (
	PEM = "PEM"
	DER = "DER"
)

// Files are the files that secure a connection: certificates of authorities, the client's certificate and its
// private key. A file without a path is none. Certificates are PEM or DER. Private keys are PKCS #8, PKCS #1 or SEC 1,
// and are not encrypted.
type Files struct {
	CA, Certificate, Key         File
	CertificateFormat, KeyFormat string // PEM or DER
	// KeyInCertificate allows a client certificate without Key: its file then holds the
	// key, too.
	KeyInCertificate bool
}

// A File is the value of a flag that names a file.
type File struct{ Flag, Path string }

func (f File) errorf(format string, args ...any) error {
	return fmt.Errorf("--%s: %s: "+format, append([]any{f.Flag, f.Path}, args...)...)
}

// read reads the file. Its error names the flag and the file.
func (f File) read() ([]byte, error) {
	text, err := disk.ReadFile(context.Background(), f.Path, MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", f.Flag, err) // names the path
	}
	return text, nil
}

// MaxBytes bounds a file with a certificate or a key.
const MaxBytes = 1 << 20

// Config reads the files and returns the configuration of a client. Its error names the
// flag and the file.
func (f *Files) Config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA.Path != "" {
		text, err := f.CA.read()
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, f.CA.errorf("no certificate in it; expected PEM, -----BEGIN CERTIFICATE-----")
		}
	}
	if f.Certificate.Path != "" || f.Key.Path != "" {
		own, err := f.own()
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	return cfg, nil
}

// own returns the client's certificate with its key.
func (f *Files) own() (tls.Certificate, error) {
	var c tls.Certificate
	key, keyFormat := f.Key, f.KeyFormat
	switch {
	case f.Certificate.Path == "":
		return c, fmt.Errorf("--%s needs --%s", f.Key.Flag, f.Certificate.Flag)
	case key.Path == "" && !f.KeyInCertificate:
		return c, fmt.Errorf("--%s needs --%s", f.Certificate.Flag, f.Key.Flag)
	case key.Path == "" && f.CertificateFormat == DER:
		return c, fmt.Errorf("--%s needs --%s: a DER file holds no key beside the certificate", f.Certificate.Flag, f.Key.Flag)
	case key.Path == "":
		key, keyFormat = f.Certificate, PEM
	}
	text, err := f.Certificate.read()
	if err != nil {
		return c, err
	}
	if c.Certificate, err = certificates(text, f.CertificateFormat); err != nil {
		return c, f.Certificate.errorf("%w", err)
	}
	if text, err = key.read(); err != nil {
		return c, err
	}
	private, err := privateKey(text, keyFormat, key.Path)
	if err != nil {
		return c, key.errorf("%w", err)
	}
	c.PrivateKey = private
	if c.Leaf, err = x509.ParseCertificate(c.Certificate[0]); err != nil {
		return c, f.Certificate.errorf("%w", err)
	}
	public, ok := c.Leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(private.Public()) {
		return c, key.errorf("it is not the key of the certificate in %s", f.Certificate.Path)
	}
	return c, nil
}

// certificates returns the certificates of a chain, each as DER.
func certificates(text []byte, format string) (chain [][]byte, err error) {
	if format == DER {
		if _, err := x509.ParseCertificate(text); err != nil {
			return nil, expectedFormat(text, format, "a certificate")
		}
		return [][]byte{text}, nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			chain = append(chain, block.Bytes)
		}
	}
	if len(chain) == 0 {
		return nil, expectedFormat(text, format, "a certificate")
	}
	return chain, nil
}

// expectedFormat returns the error for a file that does not hold what. It says so if the file
// seems to have the other format.
func expectedFormat(text []byte, format, what string) error {
	isPEM := bytes.Contains(text, []byte("-----BEGIN"))
	switch {
	case format == DER && isPEM:
		return fmt.Errorf("expected %s as DER; this is PEM", what)
	case format == PEM && !isPEM:
		return fmt.Errorf("expected %s as PEM; this is something else, DER perhaps", what)
	}
	return fmt.Errorf("no %s in it; expected one as %s", strings.TrimPrefix(what, "a "), format)
}

// privateKey returns the first private key of a file. Its error for an encrypted key
// names path in the command that decrypts it.
func privateKey(text []byte, format, path string) (crypto.Signer, error) {
	if format == DER {
		switch {
		case isEncrypted(text):
			return nil, fmt.Errorf("the private key is encrypted; decrypt it: openssl pkey -inform DER -in %s -outform DER -out KEY.der", path)
		case bytes.Contains(text, []byte("-----BEGIN")):
			return nil, expectedFormat(text, format, "a private key")
		}
		return parseKey(text)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY", strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, fmt.Errorf("the private key is encrypted; decrypt it: openssl pkey -in %s -out KEY.pem", path)
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return parseKey(block.Bytes)
		}
	}
	return nil, expectedFormat(text, format, "a private key")
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

// Checks says which parts of a server's certificate to verify; perf_analyzer can verify a part only.
type Checks struct {
	Peer bool // who issued it
	Host bool // the name in it
}

// Config returns cfg for connections to host with these checks. If both parts are
// verified, it returns cfg itself.
func (c Checks) Config(cfg *tls.Config, host string) *tls.Config {
	if c.Peer && c.Host {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.InsecureSkipVerify = true // VerifyConnection verifies instead
	cfg.VerifyConnection = c.verifier(cfg.RootCAs, host)
	return cfg
}

// verifier returns a function that verifies the parts of the certificate that c names.
func (c Checks) verifier(roots *x509.CertPool, host string) func(tls.ConnectionState) error {
	return func(cs tls.ConnectionState) error {
		leaf := cs.PeerCertificates[0] // a server always has one
		if c.Host {
			name := cs.ServerName
			if name == "" { // an address is not sent to the server
				name = host
			}
			if err := leaf.VerifyHostname(name); err != nil {
				return err
			}
		}
		if !c.Peer {
			return nil
		}
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, issuer := range cs.PeerCertificates[1:] {
			options.Intermediates.AddCert(issuer)
		}
		_, err := leaf.Verify(options)
		return err
	}
}
