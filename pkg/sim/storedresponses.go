package sim

import (
	"slices"
	"sync"
)

// maxStored is the number of answers of v1/responses that a server keeps. The oldest leaves first.
const maxStored = 10_000

// storedResponses holds the conversations that ended with an answer of v1/responses, by the id of the answer. It is safe for
// concurrent use; the zero value is empty.
type storedResponses struct {
	mu   sync.Mutex
	all  map[string][]openAIMessage
	next []string // ids, the oldest first
}

// add keeps a conversation.
func (s *storedResponses) add(id string, messages []openAIMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string][]openAIMessage{}
	}
	if len(s.next) == maxStored {
		delete(s.all, s.next[0])
		s.next = s.next[1:]
	}
	s.all[id] = slices.Clip(messages)
	s.next = append(s.next, id)
}

// get returns the conversation that ended with an answer.
func (s *storedResponses) get(id string) (messages []openAIMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	messages, ok = s.all[id]
	return messages, ok
}
