package analyze

import (
	"github.com/pa-tools/pa/internal/test/memrun"
)

// Short names of the makers of requests and events.
var (
	reader        = memrun.New
	at            = memrun.At
	openaiRequest = memrun.OpenAI
	tensors       = memrun.Tensors
	text          = memrun.Text
	delta         = memrun.Delta
)

const (
	role    = memrun.Role
	done    = memrun.Done
	usage5  = memrun.Usage5
	thought = memrun.Thought
)

// streamed is a Config.Streaming for requests of one response.
var streamed = true
