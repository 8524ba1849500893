package main

import (
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/nettest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// Every form in which a certificate and its key come is read.
func TestTLSFiles(t *testing.T) {
	certs := newTestCerts(t)
	for _, tt := range []struct{ name, args, own string }{
		{"nothing but https", "", ""},
		{"authority", "--ssl-https-ca-certificates-file ca.pem", ""},
		{"PKCS #8", "--ssl-https-client-certificate-file client.pem --ssl-https-private-key-file client.key", "client"},
		{"SEC 1", "--ssl-https-client-certificate-file client.pem --ssl-https-private-key-file client.sec1.key", "client"},
		{"PKCS #1", "--ssl-https-client-certificate-file rsa.pem --ssl-https-private-key-file rsa.pkcs1.key", "client"},
		{"DER", "--ssl-https-client-certificate-file client.der --ssl-https-client-certificate-type DER --ssl-https-private-key-file client.key.der --ssl-https-private-key-type der", "client"},
		{"one file", "--ssl-https-client-certificate-file both.pem", "client"},
		{"gRPC", "-i grpc --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file ca.pem --ssl-grpc-certificate-chain-file client.pem --ssl-grpc-private-key-file client.key", "client"},
		{"gRPC by its scheme", "-i grpc -u grpcs://host:1 --ssl-grpc-root-certifications-file ca.pem", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parse(t, "", certs.args(tt.args)...)
			if err != nil {
				t.Fatal(err)
			}
			cfg := s.tlsFor("host")
			if cfg == nil || len(s.notes)+len(s.warnings) > 0 {
				t.Fatalf("configuration %v, notes %q, warnings %q", cfg, s.notes, s.warnings)
			}
			own := ""
			if len(cfg.Certificates) > 0 {
				own = cfg.Certificates[0].Leaf.Subject.CommonName
			}
			if own != tt.own || cfg.InsecureSkipVerify || strings.Contains(tt.args, "ca.pem") != (cfg.RootCAs != nil) {
				t.Errorf("own certificate %q, want %q; %+v", own, tt.own, cfg)
			}
		})
	}
}

// args returns the arguments in text with paths, and with a model and a server over TLS
// if text names none.
func (c *testCerts) args(text string) []string {
	var args []string
	if !strings.Contains(text, "-m ") && !strings.Contains(text, "openai") {
		args = append(args, "-m", "x")
	}
	if !strings.Contains(text, "-i grpc") && !strings.Contains(text, "-u ") {
		args = append(args, "-u", "https://host")
	}
	for _, a := range strings.Fields(text) {
		if ext := filepath.Ext(a); ext == ".pem" || ext == ".key" || ext == ".der" {
			a = c.path(a)
		}
		args = append(args, a)
	}
	return args
}

func TestTLSErrors(t *testing.T) {
	certs := newTestCerts(t)
	const client = "--ssl-https-client-certificate-file client.pem "
	for _, tt := range []struct{ name, args, want string }{
		{"no such file", "--ssl-https-ca-certificates-file nowhere.pem", "--ssl-https-ca-certificates-file: DIR/nowhere.pem: no such file or directory; check the path"},
		{"an authority that is a key", "--ssl-https-ca-certificates-file client.key", "--ssl-https-ca-certificates-file: DIR/client.key: no certificate in it; expected PEM, -----BEGIN CERTIFICATE-----"},
		{"an authority as DER", "--ssl-https-ca-certificates-file client.der", "no certificate in it; expected PEM"},
		{"a key without a certificate", "--ssl-https-private-key-file client.key", "--ssl-https-private-key-file needs --ssl-https-client-certificate-file"},
		{"no key in the certificate's file", client, "--ssl-https-client-certificate-file: DIR/client.pem: no private key in it; expected one as PEM"},
		{"DER has no key beside", "--ssl-https-client-certificate-file client.der --ssl-https-client-certificate-type DER", "--ssl-https-client-certificate-file needs --ssl-https-private-key-file: a DER file holds no key"},
		{"DER taken for PEM", "--ssl-https-client-certificate-file client.der --ssl-https-private-key-file client.key", "--ssl-https-client-certificate-file: DIR/client.der: expected a certificate as PEM; this is something else, DER perhaps"},
		{"PEM taken for DER", client + "--ssl-https-client-certificate-type DER --ssl-https-private-key-file client.key", "DIR/client.pem: expected a certificate as DER; this is PEM"},
		{"a PEM key taken for DER", client + "--ssl-https-private-key-file client.key --ssl-https-private-key-type DER", "DIR/client.key: expected a private key as DER; this is PEM"},
		{"a DER key taken for PEM", client + "--ssl-https-private-key-file client.key.der", "DIR/client.key.der: expected a private key as PEM; this is something else"},
		{"a certificate that is a key", "--ssl-https-client-certificate-file client.key --ssl-https-private-key-file client.key", "DIR/client.key: no certificate in it; expected one as PEM"},
		{"another certificate's key", client + "--ssl-https-private-key-file other.key", "--ssl-https-private-key-file: DIR/other.key: it is not the key of the certificate in DIR/client.pem"},
		{"broken", client + "--ssl-https-private-key-file broken.key", "DIR/broken.key: the private key cannot be read; expected PKCS #8, PKCS #1 or SEC 1"},
		{"edge: empty", "--ssl-https-client-certificate-file empty.pem --ssl-https-private-key-file client.key", "DIR/empty.pem: expected a certificate as PEM"},
		{"encrypted", client + "--ssl-https-private-key-file encrypted.key", "DIR/encrypted.key: the private key is encrypted; decrypt it: openssl pkey -in DIR/encrypted.key -out KEY.pem"},
		{"encrypted, as of old", client + "--ssl-https-private-key-file encrypted.old.key", "the private key is encrypted; decrypt it: openssl pkey -in "},
		{"encrypted DER", client + "--ssl-https-private-key-file encrypted.key.der --ssl-https-private-key-type DER", "the private key is encrypted; decrypt it: openssl pkey -inform DER -in DIR/encrypted.key.der -outform DER -out KEY.der"},
		{"format", client + "--ssl-https-client-certificate-type P12", "--ssl-https-client-certificate-type P12: expected PEM or DER"},
		{"verify peer", "--ssl-https-verify-peer 2", "--ssl-https-verify-peer 2: must be 0 to 1"},
		{"verify host", "--ssl-https-verify-host -1", "--ssl-https-verify-host -1: must be 0 to 2"},
		{"gRPC chain without key", "-i grpc --ssl-grpc-use-ssl --ssl-grpc-certificate-chain-file client.pem", "--ssl-grpc-certificate-chain-file needs --ssl-grpc-private-key-file"},
		{"gRPC, encrypted", "-i grpc --ssl-grpc-use-ssl --ssl-grpc-certificate-chain-file client.pem --ssl-grpc-private-key-file encrypted.key", "--ssl-grpc-private-key-file: DIR/encrypted.key: the private key is encrypted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, "", certs.args(tt.args)...)
			if err == nil {
				t.Fatal("no error")
			}
			if got := strings.ReplaceAll(err.Error(), certs.dir, "DIR"); !strings.Contains(got, tt.want) {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Flags that change nothing give a note and are not refused: old command lines have them.
func TestTLSNotes(t *testing.T) {
	certs := newTestCerts(t)
	for _, tt := range []struct{ args, note, warning string }{
		{"-u http://host --ssl-https-ca-certificates-file ca.pem", "--ssl-https-ca-certificates-file has no effect without TLS; give -u https://…", ""},
		{"-i grpc --ssl-grpc-root-certifications-file ca.pem", "--ssl-grpc-root-certifications-file has no effect without TLS; add --ssl-grpc-use-ssl", ""},
		{"-i grpc --ssl-grpc-use-ssl --ssl-https-verify-peer 0", "--ssl-https-verify-peer has no effect: it is for HTTP", ""},
		{"--ssl-grpc-use-ssl", "--ssl-grpc-use-ssl has no effect: it is for -i grpc", ""},
		{"--ssl-https-verify-peer 0", "", "who issued the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0)"},
		{"--ssl-https-verify-host 0", "", "the name in the server's certificate is not verified (--ssl-https-verify-host 0)"},
		{"--ssl-https-verify-host 0 --ssl-https-verify-peer 0", "", "the server's certificate is not verified: anybody may have answered (--ssl-https-verify-peer 0, --ssl-https-verify-host 0)"},
		{"--ssl-https-verify-host 1 --ssl-https-verify-peer 1", "", ""},
	} {
		s, err := parse(t, "", certs.args(tt.args)...)
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		if note, warning := strings.Join(s.notes, "|"), strings.Join(s.warnings, "|"); note != tt.note || warning != tt.warning {
			t.Errorf("%s: note %q, warning %q; want %q, %q", tt.args, note, warning, tt.note, tt.warning)
		}
	}
}

// Every service kind goes over TLS, with a client's certificate, and keeps the
// stamps that it has without.
func TestOverTLS(t *testing.T) {
	t.Parallel()
	certs := newTestCerts(t)
	srv, err := sim.Start(t.Context(), sim.Config{
		TTFT: plan.ConstantDelay(1), ITL: plan.ConstantDelay(1), OutputTokens: plan.ConstantLength(4), AddSubDelay: plan.ConstantDelay(1),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certs.server}, ClientCAs: certs.roots, ClientAuth: tls.RequireAndVerifyClientCert},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	prompts := filepath.Join(certs.dir, "prompts.json")
	certs.write(t, "prompts.json", "", []byte(`{"data":[{"text_input":["x"],"stream":[true]}]}`))
	https := "--ssl-https-ca-certificates-file ca.pem --ssl-https-client-certificate-file client.pem --ssl-https-private-key-file client.key "
	for _, tt := range []struct{ name, args string }{
		{"OpenAI", "--service-kind openai --streaming -u " + srv.OpenAIURL() + " " + https},
		{"Triton HTTP", "-m add_sub -u " + srv.TritonHTTPURL() + " " + https},
		{"Triton gRPC stream", "-m vllm -i grpc --streaming --ssl-grpc-use-ssl --ssl-grpc-root-certifications-file ca.pem --ssl-grpc-certificate-chain-file client.pem --ssl-grpc-private-key-file client.key --input-data " + prompts + " -u " + srv.TritonGRPCAddr()},
		{"Triton gRPC", "-m add_sub -i grpc --ssl-grpc-root-certifications-file ca.pem --ssl-grpc-certificate-chain-file client.pem --ssl-grpc-private-key-file client.key -u grpcs://" + srv.TritonGRPCAddr()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "e.json")
			args := append(certs.args(tt.args), "--concurrency-range", "2", "--request-count", "6", "--profile-export-file", file, "--quiet", "--connection-reuse", "reuse")
			if code, _, stderr := inProcess(t.Context(), t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			run, requests := exporttest.Read(t, file)
			checkOK(t, requests, 6)
			paid := 0
			for i := range requests {
				if requests[i].TLS > 0 {
					paid++
				}
			}
			if paid < 1 || paid > 2 {
				t.Errorf("%d requests paid for TLS; want one on each connection", paid)
			}
			checkStamps(t, run)
		})
	}
}

// checkStamps wants all stamps of a run to be the kernel's where the system
// takes them.
func checkStamps(t *testing.T, run *export.Run) {
	t.Helper()
	if st := run.Meta.Stamps; st == nil || st.Kernel+st.User == 0 || nettest.KernelStamps(t) && st.User > 0 {
		t.Errorf("stamps %+v; want all of the kernel", st)
	}
}

// Each flag switches off only the verification that it names.
func TestVerify(t *testing.T) {
	t.Parallel()
	certs := newTestCerts(t)
	for _, tt := range []struct {
		server tls.Certificate
		flags  string
		want   string // of the error; "": none
	}{
		{certs.server, "--ssl-https-ca-certificates-file ca.pem", ""},
		{certs.server, "", "unknown authority"},
		{certs.server, "--ssl-https-verify-peer 0", ""},
		{certs.server, "--ssl-https-verify-host 0", "unknown authority"},
		{certs.other, "--ssl-https-ca-certificates-file ca.pem", "127.0.0.1"},
		{certs.other, "--ssl-https-ca-certificates-file ca.pem --ssl-https-verify-host 0", ""},
		{certs.other, "--ssl-https-verify-peer 0", "127.0.0.1"},
		{certs.other, "--ssl-https-verify-peer 0 --ssl-https-verify-host 0", ""},
		{certs.other, "--ssl-https-verify-host 0", "unknown authority"},
	} {
		srv, err := sim.Start(t.Context(), sim.Config{
			TTFT: plan.ConstantDelay(1), ITL: plan.ConstantDelay(1), OutputTokens: plan.ConstantLength(1), AddSubDelay: plan.ConstantDelay(1),
			TLS: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{tt.server}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, service := range []string{"--service-kind openai -u " + srv.OpenAIURL(), "-m add_sub -u " + srv.TritonHTTPURL()} {
			file := filepath.Join(t.TempDir(), "e.json")
			args := append(certs.args(service+" "+tt.flags), "--request-count", "1", "--profile-export-file", file, "--quiet")
			code, _, stderr := inProcess(t.Context(), t, args...)
			if (code == 0) != (tt.want == "") || !strings.Contains(stderr, tt.want) {
				t.Errorf("%s %s: exit code %d, %s; want %q", service, tt.flags, code, stderr, tt.want)
			}
			if tt.want == "" && strings.Contains(tt.flags, " 0") {
				run, _ := exporttest.Read(t, file)
				if w := strings.Join(run.Meta.Warnings, "|"); !strings.Contains(w, "not verified") || !strings.Contains(stderr, "warning: ") {
					t.Errorf("%s: warnings in the export %q, on standard error %q", tt.flags, w, stderr)
				}
			}
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}
}
