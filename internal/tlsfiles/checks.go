package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
)

// Checks says which parts of a server's certificate to verify.
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
