package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pa-tools/pa/internal/jsonscan"
)

// A Marker marks the requests of each play of a session with a text of its own, so that a server cannot reuse what it has cached of
// other plays. The requests of one play have the same text, and share as much as before.
type Marker struct {
	Place MarkerPlace
	// Salt is what the texts of a run depend on.
	Salt string
}

// A MarkerPlace is where a Marker puts its text: before or after the text of the first user message, or of the system message.
type MarkerPlace uint8

// The places of a Marker. A conversation without a system message gets one of the marker alone.
const (
	FirstTurnPrefix MarkerPlace = iota
	FirstTurnSuffix
	SystemPrefix
	SystemSuffix
)

var markerPlaces = []string{FirstTurnPrefix: "first-turn-prefix", FirstTurnSuffix: "first-turn-suffix", SystemPrefix: "system-prefix", SystemSuffix: "system-suffix"}

// String returns the name of the place.
func (p MarkerPlace) String() string { return markerPlaces[p] }

// ParseMarkerPlace returns the place with a name.
func ParseMarkerPlace(name string) (MarkerPlace, error) {
	if i := slices.Index(markerPlaces, name); i >= 0 {
		return MarkerPlace(i), nil //nolint:gosec // one of a few
	}
	return 0, fmt.Errorf("expected first-turn-prefix, first-turn-suffix, system-prefix, system-suffix or none, not %q", name)
}

// Text returns the text of a play: the n-th one of a session, in a slot.
func (m *Marker) Text(n, slot int, session string) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %q", m.Salt, n, slot, session))
	return "[rid:" + hex.EncodeToString(h[:])[:12] + "]"
}

// gap stands between a marker and the text that it is put to.
const gap = "\n\n"

// Mark puts the text of a marker into an entry.
func (m *Marker) Mark(e *Entry, text string) error {
	if e.Prompt == nil || e.Prompt.Body != nil {
		return fmt.Errorf("%s: cannot hold a marker: it %w", e.Place(), errWholeRequest)
	}
	if e.Prompt.isIDs() {
		return fmt.Errorf("%s: cannot hold a marker: it holds token ids", e.Place())
	}
	p := *e.Prompt
	e.Prompt, p.IDs = &p, nil
	put := func(old string) string {
		switch {
		case old == "":
			return text
		case m.Place == FirstTurnSuffix || m.Place == SystemSuffix:
			return old + gap + text
		}
		return text + gap + old
	}
	system := m.Place == SystemPrefix || m.Place == SystemSuffix
	switch {
	case p.Messages == nil && system:
		p.System = put(p.System)
	case p.Messages == nil:
		p.Text = put(p.Text)
	default:
		var err error
		if p.Messages, err = m.markMessages(p.Messages, system, put, text); err != nil {
			return fmt.Errorf("%s: cannot hold a marker: %w", e.Place(), err)
		}
	}
	return nil
}

// markMessages changes the text of the first message of the user, or of the system.
func (m *Marker) markMessages(js []byte, system bool, put func(string) string, text string) ([]byte, error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(js, &messages); err != nil {
		return nil, jsonscan.InWords(err)
	}
	for i, message := range messages {
		var of struct {
			Role    string
			Content json.RawMessage
		}
		if err := json.Unmarshal(message, &of); err != nil {
			return nil, jsonscan.InWords(err)
		}
		if system != (of.Role == "system" || of.Role == "developer") || !system && of.Role != "user" {
			continue
		}
		content, err := changeText(of.Content, m.Place == FirstTurnSuffix || m.Place == SystemSuffix, put)
		if err != nil {
			return nil, err
		}
		if messages[i], err = withMember(message, "content", content); err != nil {
			return nil, err
		}
		return marshal(messages)
	}
	if !system {
		return nil, errors.New("it has no message of the user")
	}
	first, err := marshal(map[string]string{"role": "system", "content": text})
	if err != nil {
		return nil, err
	}
	return marshal(slices.Insert(messages, 0, json.RawMessage(first)))
}

// changeText changes the content of a message: a text, or the first or last text of its parts.
func changeText(js json.RawMessage, last bool, put func(string) string) (any, error) {
	var text string
	if err := json.Unmarshal(js, &text); err == nil {
		return put(text), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(js, &parts); err != nil || parts == nil {
		return nil, errors.New("the content of its message is neither a text nor a list of parts")
	}
	at := -1
	for i, part := range parts {
		var p struct{ Text *string }
		if json.Unmarshal(part, &p) == nil && p.Text != nil && (last || at < 0) {
			at, text = i, *p.Text
		}
	}
	if at < 0 {
		part, err := marshal(map[string]string{"type": "text", "text": put("")})
		if err != nil {
			return nil, err
		}
		if last {
			return append(parts, part), nil
		}
		return slices.Insert(parts, 0, json.RawMessage(part)), nil
	}
	var err error
	parts[at], err = withMember(parts[at], "text", put(text))
	return parts, err
}
