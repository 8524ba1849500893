package workload

import "github.com/pa-tools/pa/pkg/export"

// A Prompt is a request to a language model, independent of the service. A backend
// encodes it for its service.
type Prompt struct {
	// Messages is a conversation from the data: a JSON array of chat messages with
	// any members. If it is set, System, Text, More and Media are empty.
	Messages []byte
	System   string // instructions before Text; "" for none
	Text     string
	More     []string // texts after Text: parts of a message, or inputs of a batch
	Media    []Medium // images and audio beside Text
	// IDs are the token ids of Text, for services that accept them; nil if unknown.
	IDs []uint32

	// MaxTokens is the requested output length; 0 requests none. Exact requests
	// exactly that length.
	MaxTokens int
	Exact     bool
	// LengthField is the name of MaxTokens in requests to OpenAI's APIs that have it; ""
	// means the name of the service.
	LengthField string

	// Extra holds further members of the request, as compact JSON.
	Extra export.Fields

	// Body is a complete request body for an OpenAI-compatible service, from the
	// data. The other fields describe the same request for other services. Nil means
	// that the body must be built.
	Body []byte
}

// isIDs reports whether p has token ids and no text.
func (p *Prompt) isIDs() bool { return p.Text == "" && p.Messages == nil && p.IDs != nil }

// TextParts are the parts of a made-up text. Parts with one name and one length are equal.
type TextParts struct {
	Names  []uint64
	Tokens []int
}

// Add adds a part; one without tokens is left out.
func (p *TextParts) Add(name uint64, tokens int) {
	if tokens > 0 {
		p.Names, p.Tokens = append(p.Names, name), append(p.Tokens, tokens)
	}
}

// Total returns the length of the text in tokens.
func (p *TextParts) Total() (tokens int) {
	for _, n := range p.Tokens {
		tokens += n
	}
	return tokens
}

// Cut leaves out what is after most tokens.
func (p *TextParts) Cut(most int) {
	for i, n := range p.Tokens {
		if n >= most {
			p.Names, p.Tokens = p.Names[:i+1], p.Tokens[:i+1]
			p.Tokens[i] = most
			return
		}
		most -= n
	}
}

// A Medium is an image or an audio clip.
type Medium struct {
	Kind MediumKind
	// URL is an http or https address, or a data: URL with the content.
	URL string
	// Name is the name of the file of an audio clip; "" if there is none. Seconds is its length, as the data states it; 0
	// if the data does not.
	Name    string
	Seconds float64
}

// A MediumKind is a kind of medium.
type MediumKind uint8

// The kinds of media.
const (
	Image MediumKind = iota + 1
	Audio
)

// String returns "image" or "audio".
func (k MediumKind) String() string {
	if k == Audio {
		return "audio"
	}
	return "image"
}
