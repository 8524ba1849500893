package backend

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pa-tools/pa/internal/sanitize"
)

// UserAgent is the User-Agent sent to proxies.
const UserAgent = "pa-record"

// maxHeadBytes bounds the head of a proxy's answer.
const maxHeadBytes = 64 << 10

// A ProxyRefusedError is a proxy's answer other than 200.
type ProxyRefusedError struct {
	Code   int
	Status string // with the code
}

func (e *ProxyRefusedError) Error() string {
	text := "it answers CONNECT with " + e.Status
	if e.Code == http.StatusProxyAuthRequired {
		text += "; give its name and password as http://name:password@host:port"
	}
	return text
}

// ConnectThrough has the HTTP proxy at the other end of nc connect to addr, host:port, until ctx is
// done (CONNECT, RFC 9110, section 9.3.6). user may be nil. Not a byte beyond the proxy's answer is read:
// the server may speak first, and who follows the connection's bytes must see its first ones. After an error,
// a *[ProxyRefusedError] among them, nc is of no use. Errors do not name the proxy.
func ConnectThrough(ctx context.Context, nc net.Conn, addr string, user *url.Userinfo) error {
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) }) // fails only if it is closed
	err := ask(nc, addr, user)
	if !stop() { // the deadline is set, or about to be
		return context.Cause(ctx)
	}
	return err
}

// BasicAuthorization returns the header Authorization or Proxy-Authorization for user; "" for none.
func BasicAuthorization(user *url.Userinfo) string {
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}

// HasUser reports whether a URL, with or without a scheme, has user information.
func HasUser(rawURL string) bool {
	if !strings.Contains(rawURL, "://") {
		rawURL = "http://" + rawURL
	}
	u, err := url.Parse(rawURL)
	return err == nil && u.User != nil
}

func ask(nc net.Conn, addr string, user *url.Userinfo) error {
	var w bytes.Buffer
	fmt.Fprintf(&w, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s\r\n", addr, addr, UserAgent)
	if a := BasicAuthorization(user); a != "" {
		fmt.Fprintf(&w, "Proxy-Authorization: %s\r\n", a)
	}
	w.WriteString("\r\n")
	if _, err := nc.Write(w.Bytes()); err != nil {
		return err
	}
	head, err := readHead(nc)
	if err != nil {
		return fmt.Errorf("no answer to CONNECT: %w", err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return errors.New("its answer to CONNECT is not HTTP") // the text may be anything
	}
	_ = resp.Body.Close() // there is none
	if resp.StatusCode != http.StatusOK {
		return &ProxyRefusedError{resp.StatusCode, oneLine(resp.Status)}
	}
	return nil
}

// oneLine bounds a foreign text.
func oneLine(s string) string {
	return strings.ToValidUTF8(sanitize.Cut(strings.Join(strings.Fields(s), " "), 200), "")
}

// readHead reads a head and not a byte more. A byte at a time is slow, but this
// is once for each connection.
func readHead(r io.Reader) ([]byte, error) {
	var head []byte
	var b [1]byte
	for len(head) < maxHeadBytes {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, err
		}
		if head = append(head, b[0]); bytes.HasSuffix(head, []byte("\r\n\r\n")) {
			return head, nil
		}
	}
	return nil, fmt.Errorf("its head is longer than %d bytes", maxHeadBytes)
}
