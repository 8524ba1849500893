package openai

import (
	"errors"
	"fmt"
	"strings"
)

// A Header is sent with every request. Its value may be a key, so no verb prints it.
type Header struct {
	Name, Value string
}

// Format prints the name for every verb.
func (h Header) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprint(f, h.Name, ": [redacted]")
}

// MarshalText returns the name, for JSON.
func (h Header) MarshalText() ([]byte, error) {
	return []byte(h.Name + ": [redacted]"), nil
}

// validate returns an error if the header would break the framing of a request.
func (h Header) validate() error {
	if h.Name == "" {
		return errors.New("a header without a name; write 'Name: value'")
	}
	for i := range len(h.Name) {
		if c := h.Name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return fmt.Errorf("header %q: %q cannot be part of a header's name", h.Name, c)
		}
	}
	for i := range len(h.Value) {
		if c := h.Value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return fmt.Errorf("header %s: its value holds a control character (%q)", h.Name, c)
		}
	}
	switch strings.ToLower(h.Name) {
	case "content-length", "transfer-encoding", "trailer", "expect", "upgrade":
		return fmt.Errorf("header %s cannot be set; it follows from the request", h.Name)
	case "accept-encoding":
		return fmt.Errorf("header %s cannot be set; a compressed answer would hide when its tokens came", h.Name)
	}
	return nil
}
