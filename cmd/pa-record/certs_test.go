package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// testCerts are certificates for tests: an authority, a server of 127.0.0.1,
// one of another name, and a client, in files.
type testCerts struct {
	dir    string
	roots  *x509.CertPool
	server tls.Certificate // for 127.0.0.1 and localhost
	other  tls.Certificate // for other.test
	// expired is server's with a date that has passed, stranger's is its own authority.
	expired, stranger tls.Certificate
}

// path returns the path of one of the files that newTestCerts makes.
func (c *testCerts) path(name string) string { return filepath.Join(c.dir, name) }

// testRSAKey makes one key for all tests: finding its primes takes 0.1 s.
var testRSAKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newTestCerts(t *testing.T) *testCerts {
	t.Helper()
	c := &testCerts{dir: t.TempDir(), roots: x509.NewCertPool()}
	caKey := newECKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER := signed(t, ca, ca, caKey.Public(), caKey)
	c.write(t, "ca.pem", "CERTIFICATE", caDER)
	parsed, err := x509.ParseCertificate(caDER)
	if err != nil {
		t.Fatal(err)
	}
	c.roots.AddCert(parsed)
	notAfter := ca.NotAfter
	leaf := func(serial int64, usage x509.ExtKeyUsage, key crypto.Signer, names ...string) []byte {
		l := &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
			NotBefore: ca.NotBefore, NotAfter: notAfter, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		}
		if names[0] == "localhost" {
			l.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		}
		return signed(t, l, ca, key.Public(), caKey)
	}
	serverKey, otherKey, clientKey := newECKey(t), newECKey(t), newECKey(t)
	c.server = tls.Certificate{Certificate: [][]byte{leaf(2, x509.ExtKeyUsageServerAuth, serverKey, "localhost")}, PrivateKey: serverKey}
	c.other = tls.Certificate{Certificate: [][]byte{leaf(3, x509.ExtKeyUsageServerAuth, otherKey, "other.test")}, PrivateKey: otherKey}
	notAfter = time.Now().Add(-time.Minute)
	c.expired = tls.Certificate{Certificate: [][]byte{leaf(6, x509.ExtKeyUsageServerAuth, serverKey, "localhost")}, PrivateKey: serverKey}
	notAfter = ca.NotAfter
	own := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	c.stranger = tls.Certificate{Certificate: [][]byte{signed(t, own, own, serverKey.Public(), serverKey)}, PrivateKey: serverKey}

	client := leaf(4, x509.ExtKeyUsageClientAuth, clientKey, "client")
	pkcs8 := must(x509.MarshalPKCS8PrivateKey(clientKey))
	c.write(t, "client.pem", "CERTIFICATE", client)
	c.write(t, "client.der", "", client)
	c.write(t, "client.key", "PRIVATE KEY", pkcs8)
	c.write(t, "client.key.der", "", pkcs8)
	c.write(t, "client.sec1.key", "EC PRIVATE KEY", must(x509.MarshalECPrivateKey(clientKey)))
	c.write(t, "other.key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(otherKey)))
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: client})...)
	c.write(t, "both.pem", "", both)

	rsaKey, err := testRSAKey()
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, "rsa.pem", "CERTIFICATE", leaf(5, x509.ExtKeyUsageClientAuth, rsaKey, "client"))
	c.write(t, "rsa.pkcs1.key", "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey))

	encrypted := must(asn1.Marshal(struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}{pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}}, []byte("secret")}))
	c.write(t, "encrypted.key", "ENCRYPTED PRIVATE KEY", encrypted)
	c.write(t, "encrypted.key.der", "", encrypted)
	old := &pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"}, Bytes: []byte("secret")}
	c.write(t, "encrypted.old.key", "", pem.EncodeToMemory(old))
	c.write(t, "broken.key", "PRIVATE KEY", []byte("no key"))
	c.write(t, "empty.pem", "", nil)
	return c
}

func newECKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t *testing.T, c, by *x509.Certificate, key crypto.PublicKey, byKey crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, by, key, byKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// write writes a file as PEM of that type, or as it is.
func (c *testCerts) write(t *testing.T, name, pemType string, data []byte) {
	t.Helper()
	if pemType != "" {
		data = pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: data})
	}
	if err := os.WriteFile(c.path(name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
