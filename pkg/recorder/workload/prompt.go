package workload

import "github.com/pa-tools/pa/pkg/export"

// A Prompt is a request in words: what to ask a language model, in no service's
// form. A backend puts it into the form that its service takes.
type Prompt struct {
	// Messages is a conversation as the data has it, a JSON array of messages
	// of the chat API, with whatever members they have. If it is set, System,
	// Text, More and Media are empty.
	Messages []byte
	System   string // instructions ahead of Text; "" is none
	Text     string
	More     []string // further texts: parts of one message, or inputs of a batch
	Media    []Medium // beside Text
	// IDs are the tokens of Text, for services that take those; nil when they
	// are not known.
	IDs []uint32

	// MaxTokens is the length asked of the answer; 0 asks for none. Exact asks
	// that the answer be that long and not end before.
	MaxTokens int
	Exact     bool

	// Extra are further members of the request, compact JSON by name.
	Extra export.Fields

	// Body is a whole request for an OpenAI-compatible service, as the data has
	// it; the rest says the same for other services. nil: it has to be made.
	Body []byte
}

// A Medium is a picture or a sound beside a text.
type Medium struct {
	Kind MediumKind
	// URL is where it is: http, https, or data with the content.
	URL string
}

// A MediumKind says what a medium is.
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
