package ranks

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
)

// version is the version of the protocol. Ranks of different versions do not meet.
const version = "pa-barrier/1"

// Bounds of the protocol.
const (
	maxFrameBytes  = 4096
	maxReasonBytes = 512
	nonceBytes     = 32
)

// A conn sends and receives frames. One goroutine may receive; any may send.
type conn struct {
	nc net.Conn
	br *bufio.Reader
	// key authenticates frames; nil during the handshake.
	key      []byte
	incoming byte // direction of received frames
	outgoing byte
	received uint64 // authenticated frames

	mu   sync.Mutex // guards the fields below, and writing
	sent uint64
}

func newConn(nc net.Conn) *conn { return &conn{nc: nc, br: bufio.NewReaderSize(nc, maxFrameBytes)} }

// authenticate makes the following frames carry a MAC with the key.
func (c *conn) authenticate(key []byte, outgoing, incoming byte) {
	c.key, c.outgoing, c.incoming = key, outgoing, incoming
}

// Directions of frames.
const (
	fromServer = 's'
	fromRank   = 'r'
)

// writeTimeout bounds the sending of a frame: a peer that does not read is gone.
const writeTimeout = 5 * time.Second

// send writes v as a frame.
func (c *conn) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > maxFrameBytes {
		return fmt.Errorf("a message of %d bytes: at most %d", len(text), maxFrameBytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	b = append(b, text...)
	if c.key != nil {
		b = append(b, frameMAC(c.key, c.outgoing, c.sent, text)...)
		c.sent++
	}
	if err := c.nc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = c.nc.Write(b)
	return err
}

// errForged ends a connection whose frames were changed on the way.
var errForged = errors.New("a message with a wrong signature")

// receive reads a frame into v. It fails if the frame is not complete within timeout.
func (c *conn) receive(v any, timeout time.Duration) error {
	if err := c.nc.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	var head [4]byte
	if _, err := io.ReadFull(c.br, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrameBytes {
		return fmt.Errorf("a message of %d bytes: at most %d", n, maxFrameBytes)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(c.br, text); err != nil {
		return err
	}
	if c.key != nil {
		var mac [sha256.Size]byte
		if _, err := io.ReadFull(c.br, mac[:]); err != nil {
			return err
		}
		if !hmac.Equal(mac[:], frameMAC(c.key, c.incoming, c.received, text)) {
			return errForged
		}
		c.received++
	}
	return json.Unmarshal(text, v)
}

// frameMAC returns the MAC of frame number n of a direction.
func frameMAC(key []byte, direction byte, n uint64, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(binary.BigEndian.AppendUint64([]byte{direction}, n))
	h.Write(text)
	return h.Sum(nil)
}

// proof returns the MAC in hex by which a side proves that it knows the secret. Each
// part is preceded by its length, so that no two lists of parts are the same text.
func proof(secret, purpose string, parts ...string) string {
	return hex.EncodeToString(derive(secret, purpose, parts...))
}

func derive(secret, purpose string, parts ...string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	for _, p := range append([]string{version, purpose}, parts...) {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(p))))
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// newNonce returns random bytes in hex.
func newNonce() string {
	b := make([]byte, nonceBytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// cutReason bounds a reason for a message.
func cutReason(reason string) string { return sanitize.Clip(reason, maxReasonBytes) }
