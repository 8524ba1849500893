package backend

import "github.com/pa-tools/pa/pkg/recorder/workload"

// A Talker is a backend that can hold conversations: what a turn asks stands
// behind all that was asked and answered before.
type Talker interface {
	Backend
	// Converse begins a conversation. It may be called while the load is on, by
	// several goroutines at a time.
	Converse() Conversation
}

// A Conversation is used by one goroutine at a time, which calls Turn for the first
// entry, then for each further one Answered and Turn. Different conversations of one
// backend are used at the same time, one by each slot, beside Send and Decode: what
// they share through the backend must allow for that. Before the load, the recorder
// calls Turn once for each entry, in conversations of their own, to find mistakes.
type Conversation interface {
	// Turn prepares the next turn. The error is that of the entry.
	Turn(e *workload.Entry) (Payload, error)
	// Answered takes the answer to the last turn, before Decode gets it, and changes
	// nothing of it. The error says why there can be no next turn: the request
	// failed, or what came is no message.
	Answered(x *Exchange) error
}
