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

// A Conversation is for one goroutine. It calls Turn for the first entry, then
// for each further one Answered and Turn.
type Conversation interface {
	// Turn prepares the next turn. The error is that of the entry.
	Turn(e *workload.Entry) (Payload, error)
	// Answered takes the answer to the last turn, before it is decoded, and changes
	// nothing of it. The error says why there can be no next turn: the request
	// failed, or what came is no message.
	Answered(x *Exchange) error
}
