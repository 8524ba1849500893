package backend

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pa-tools/pa/pkg/export"
)

// A Place stands for a figure of a request in the value of a header.
type Place string

// The places.
const (
	// PlaceSession is the id of the agent's session: Request.SessionID of the root agent, with "/" and Request.Agent
	// behind it of a sub-agent.
	PlaceSession Place = "session"
	// PlaceParent is PlaceSession of the agent that began the sub-agent; a root has none.
	PlaceParent Place = "parent"
	// PlaceTurn is Request.Turn.
	PlaceTurn Place = "turn"
	// PlaceRequest is an id that no other request of the run has; it becomes Request.RequestID.
	PlaceRequest Place = "request"
)

var places = []Place{PlaceSession, PlaceParent, PlaceTurn, PlaceRequest}

// String returns the place as it is written in a header.
func (p Place) String() string { return "{{" + string(p) + "}}" }

// ParsePlaces returns the places in the value of a header. The error names the text between {{ and }} that is no place.
func ParsePlaces(value string) ([]Place, error) {
	var found []Place
	for _, part := range cutPlaces(value) {
		switch {
		case part.literal != "":
		case !slices.Contains(places, part.place):
			return nil, fmt.Errorf("{{%.40s}} is not a placeholder; expected {{session}}, {{parent}}, {{turn}} or {{request}}", string(part.place))
		default:
			found = append(found, part.place)
		}
	}
	return found, nil
}

// HeaderTemplate returns a value with … for each text between its places, because such a text may be a credential.
func HeaderTemplate(value string) string {
	var b strings.Builder
	for _, part := range cutPlaces(value) {
		if part.literal != "" {
			b.WriteString("…")
		} else {
			b.WriteString(part.place.String())
		}
	}
	return b.String()
}

// A valuePart is a literal text, or a place.
type valuePart struct {
	literal string // "" for a place
	place   Place
}

// cutPlaces returns the parts of the value of a header.
func cutPlaces(value string) (parts []valuePart) {
	for value != "" {
		before, rest, begun := strings.Cut(value, "{{")
		name, after, ended := strings.Cut(rest, "}}")
		if !begun || !ended {
			return append(parts, valuePart{literal: value})
		}
		if before != "" {
			parts = append(parts, valuePart{literal: before})
		}
		parts = append(parts, valuePart{place: Place(name)})
		value = after
	}
	return parts
}

// RequestHeaders makes the headers that differ from request to request. The zero value makes none. Calls of All may overlap.
type RequestHeaders struct {
	// Seed is what the ids of PlaceRequest depend on, beside the number of the request.
	Seed uint64
	// Return is the name of a header of the answer that the next request of the same agent sends back; "" for none.
	Return string

	headers []placedHeader
}

type placedHeader struct {
	name  string
	parts []valuePart
}

// Add adds a header if its value has a place, and reports whether it has.
func (h *RequestHeaders) Add(name, value string) (placed bool, err error) {
	found, err := ParsePlaces(value)
	if err != nil {
		return false, fmt.Errorf("header %s: %w", name, err)
	}
	if len(found) == 0 {
		return false, nil
	}
	h.headers = append(h.headers, placedHeader{name, cutPlaces(value)})
	return true, nil
}

// None reports whether there are no such headers.
func (h *RequestHeaders) None() bool { return len(h.headers) == 0 && h.Return == "" }

// Has reports whether a header of that name, in any case, has places.
func (h *RequestHeaders) Has(name string) bool {
	for i := range h.headers {
		if strings.EqualFold(h.headers[i].name, name) {
			return true
		}
	}
	return false
}

// Literals returns the texts between the places, by the names of their headers. They may be credentials.
func (h *RequestHeaders) Literals() iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		for _, header := range h.headers {
			for _, part := range header.parts {
				if part.literal != "" && !yield(header.name, part.literal) {
					return
				}
			}
		}
	}
}

// All returns the names and values of the headers of x, and sets x.Request.RequestID if one of them holds it. A header with a
// place that has no value for x is left out.
func (h *RequestHeaders) All(x *Exchange) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i := range h.headers {
			value, ok := h.value(&h.headers[i], &x.Request)
			if ok && !yield(h.headers[i].name, value) {
				return
			}
		}
		if token := x.Line.token(); h.Return != "" && token != "" {
			yield(h.Return, token)
		}
	}
}

// value returns the value of a header of r; ok is false if a place has none.
func (h *RequestHeaders) value(header *placedHeader, r *export.Request) (value string, ok bool) {
	var b strings.Builder
	for _, part := range header.parts {
		text := part.literal
		switch part.place {
		case PlaceSession:
			text = agentSession(r.SessionID, r.Agent)
		case PlaceParent:
			if text = ""; r.Depth > 0 {
				text = agentSession(r.SessionID, r.ParentAgent)
			}
		case PlaceTurn:
			text = strconv.Itoa(r.Turn)
		case PlaceRequest:
			if r.RequestID == "" {
				r.RequestID = requestID(h.Seed, r.ID)
			}
			text = r.RequestID
		}
		if text == "" {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// Returned keeps what the answer to x said in the header Return; get returns the value of a header of the answer.
func (h *RequestHeaders) Returned(x *Exchange, get func(name string) string) {
	if h.Return == "" || x.Line == nil {
		return
	}
	if token := get(h.Return); token != "" && !strings.ContainsFunc(token, isControl) {
		x.Line.keep(token)
	}
}

// isControl reports whether a character would break the framing of a request, or be refused in the value of a header.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// A Line is what the requests of one agent of a session share while the session is played: the header that the latest answer
// asked to be sent back. The zero value is ready; calls may overlap. nil has no header and keeps none.
type Line struct {
	mu    sync.Mutex
	value string
}

func (l *Line) keep(value string) {
	l.mu.Lock()
	l.value = value
	l.mu.Unlock()
}

func (l *Line) token() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value
}

// agentSession returns the session id of an agent as headers have it.
func agentSession(session, agent string) string {
	if agent != "" {
		session += "/" + agent
	}
	return headerText(session)
}

// headerText writes each byte of s that is no visible ASCII character, and each "%", as "%" and two digits, because ids come from
// data files and may hold anything.
func headerText(s string) string {
	plain := func(c byte) bool { return c > ' ' && c < 0x7f && c != '%' }
	for i := range len(s) {
		if plain(s[i]) {
			continue
		}
		b := []byte(s[:i])
		for ; i < len(s); i++ {
			if plain(s[i]) {
				b = append(b, s[i])
			} else {
				b = fmt.Appendf(b, "%%%02X", s[i])
			}
		}
		return string(b)
	}
	return s
}

// requestID returns an id in the form of a random UUID that depends on a seed and the number of a request alone.
func requestID(seed, number uint64) string {
	var of [16]byte
	binary.BigEndian.PutUint64(of[:8], seed)
	binary.BigEndian.PutUint64(of[8:], number)
	hash := sha256.Sum256(of[:])
	u := hash[:16]
	u[6] = u[6]&0x0f | 0x40 // version 4
	u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
	t := hex.EncodeToString(u)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// CheckHeaderName returns an error if name cannot be the name of a header.
func CheckHeaderName(name string) error {
	if name == "" {
		return errors.New("a header without a name; write 'Name: value'")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return fmt.Errorf("header %q: %q cannot be part of a header's name", name, c)
		}
	}
	return nil
}
