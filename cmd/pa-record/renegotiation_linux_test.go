package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net"
	"slices"
)

// A tapped connection is below the TLS 1.2 of a server. It reads what the server writes in
// the handshake, and derives the keys from it. So it can write a HelloRequest, with which a server
// asks for another handshake on the same connection (RFC 5246, 7.4.1.1). Package crypto/tls
// cannot write one.
type tapped struct {
	net.Conn
	keyLog  bytes.Buffer // a line CLIENT_RANDOM, the client's random, the master secret
	random  []byte       // the server's random
	secured bool         // records are encrypted
	records uint64       // the encrypted records that were written
}

// tap returns nc as a tapped connection, and cfg for it: TLS 1.2 with a cipher that tapped
// knows.
func tap(nc net.Conn, cfg *tls.Config) (*tapped, *tls.Config) {
	t := &tapped{Conn: nc}
	cfg = cfg.Clone()
	cfg.MaxVersion, cfg.CipherSuites, cfg.KeyLogWriter = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, &t.keyLog
	return t, cfg
}

// Types of records and messages of TLS, and the lengths of their heads.
const (
	recordChangeCipher = 20
	recordHandshake    = 22
	messageServerHello = 2
	recordHead         = 5
	messageHead        = 4
)

// Write implements [net.Conn]. Package crypto/tls writes whole records.
func (t *tapped) Write(p []byte) (int, error) {
	for r := p; len(r) >= recordHead; {
		typ, payload := r[0], r[recordHead:recordHead+int(binary.BigEndian.Uint16(r[3:]))]
		switch {
		case t.secured:
			t.records++
		case typ == recordChangeCipher:
			t.secured = true
		case typ == recordHandshake && payload[0] == messageServerHello:
			t.random = slices.Clone(payload[messageHead+2:][:32])
		}
		r = r[recordHead+len(payload):]
	}
	return t.Conn.Write(p)
}

// helloRequest writes a HelloRequest. The server can write nothing more over TLS, because its
// record numbers are wrong now.
func (t *tapped) helloRequest() error {
	fields := bytes.Fields(t.keyLog.Bytes())
	if len(fields) != 3 || string(fields[0]) != "CLIENT_RANDOM" || !t.secured {
		return errors.New("no TLS 1.2")
	}
	clientRandom, err := hex.DecodeString(string(fields[1]))
	if err != nil {
		return err
	}
	secret, err := hex.DecodeString(string(fields[2]))
	if err != nil {
		return err
	}
	// RFC 5246, 6.3, and RFC 5288: two keys of 16 bytes, then two salts of 4 bytes, each the client's first.
	keys := prf(secret, "key expansion", slices.Concat(t.random, clientRandom), 2*16+2*4)
	block, err := aes.NewCipher(keys[16:32])
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	message := make([]byte, messageHead) // type 0 and length 0
	number := binary.BigEndian.AppendUint64(nil, t.records)
	head := []byte{recordHandshake, 3, 3}
	authentic := binary.BigEndian.AppendUint16(slices.Concat(number, head), uint16(len(message)))
	sealed := aead.Seal(slices.Clone(number), slices.Concat(keys[36:40], number), message, authentic)
	_, err = t.Conn.Write(slices.Concat(binary.BigEndian.AppendUint16(head, uint16(len(sealed))), sealed))
	return err
}

// prf returns n bytes of the pseudorandom function of TLS 1.2 (RFC 5246, section 5).
func prf(secret []byte, label string, seed []byte, n int) []byte {
	sum := func(parts ...[]byte) []byte {
		h := hmac.New(sha256.New, secret)
		for _, p := range parts {
			h.Write(p)
		}
		return h.Sum(nil)
	}
	labeled := append([]byte(label), seed...)
	var out []byte
	for a := sum(labeled); len(out) < n; a = sum(a) {
		out = append(out, sum(a, labeled)...)
	}
	return out[:n]
}
