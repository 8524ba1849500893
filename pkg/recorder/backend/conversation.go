package backend

import (
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Conversational is a backend that can hold conversations: each turn is sent with all
// earlier turns and replies before it.
type Conversational interface {
	Backend
	// NewConversation begins a conversation. Slots call it during the load, several
	// at a time; before the load the recorder calls it once for each entry.
	NewConversation() Conversation
}

// Conversation holds the turns and replies of one conversation. One goroutine at a time
// uses it: it calls Turn for the first entry, then AddReply and Turn for each further
// one. Each slot has its own conversation; conversations run at the same time as each
// other, Send and Decode. State that conversations share through the backend must allow
// for that. Before the load, the recorder calls Turn once for each entry, each in its own
// conversation, to find mistakes.
type Conversation interface {
	// Turn encodes the next turn. The error names the entry.
	Turn(e *workload.Entry) (Payload, error)
	// AddReply adds the response to the last turn. It is called in the slot's goroutine
	// before Decode and must not change x. contentless says that the response has no content
	// that a next turn could follow, so that the history holds other text in its place, or
	// nothing. AddReply returns an error if there can be no next turn: the request failed, or
	// the response is no message.
	AddReply(x *Exchange) (contentless bool, err error)
	// Fork returns another conversation with the same turns and replies so far. From then on, different
	// goroutines may use the two.
	Fork() Conversation
}

// A Previewer is a Conversation that finds an error within a response before the response is decoded.
type Previewer interface {
	// Preview returns the status that Decode will give a request whose status so far is ok, as far as an error event shows it.
	// It is called as AddReply is.
	Preview(x *Exchange) export.Status
}

// A Quoter is a Conversation whose replies other requests can quote.
type Quoter interface {
	// ReplyText returns the text of the last reply; "" if it has none.
	ReplyText() string
}
