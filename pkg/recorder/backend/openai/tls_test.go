package openai

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
)

// A server that asks for a client certificate gets it; without one, the message says that it is
// missing.
func TestTLSClientCertificate(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			cfg := serveTLS(t, &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: version})
			b := newBackend(t, cfg)
			r := &exchange(t.Context(), t, b, open(t, b), `{}`).Request
			advice := "; give a client certificate that the server accepts"
			if version == tls.VersionTLS12 { // whose alert says less
				advice = "; the server may want a client certificate, or another version of TLS"
			}
			if r.Status != export.StatusConnectError || !strings.HasSuffix(r.Message, advice) || !strings.HasPrefix(r.Message, cfg.URL) {
				t.Errorf("without: %v, %q", r.Status, r.Message)
			}
			cfg.TLS.Certificates = []tls.Certificate{testCertificate}
			b = newBackend(t, cfg)
			r = &exchange(t.Context(), t, b, open(t, b), `{}`).Request
			if r.Status != export.StatusOK || r.TLS == 0 {
				t.Errorf("with: %v, %q, TLS %v", r.Status, r.Message, r.TLS)
			}
		})
	}
}

// testCertificate is the certificate of httptest.
var testCertificate = func() tls.Certificate {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	return srv.TLS.Certificates[0]
}()

// serveTLS runs an HTTP/1.1 server over a listener that negotiates nothing, and
// returns how to reach it.
func serveTLS(t testing.TB, cfg *tls.Config) Config {
	t.Helper()
	if cfg == nil {
		cfg = &tls.Config{}
	}
	cfg.Certificates = []tls.Certificate{testCertificate}
	l, err := tls.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(streamHandler), ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error)
	go func() { ended <- srv.Serve(l) }()
	t.Cleanup(func() { srv.Close(); <-ended })
	pool := x509.NewCertPool()
	pool.AddCert(testCertificate.Leaf)
	return Config{URL: "https://" + l.Addr().String(), TLS: &tls.Config{RootCAs: pool, ServerName: "example.com"}}
}
