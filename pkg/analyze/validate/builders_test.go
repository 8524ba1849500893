package validate

import (
	"github.com/pa-tools/pa/internal/test/memrun"
)

// Short names of the makers of requests.
var (
	reader        = memrun.New
	at            = memrun.At
	openaiRequest = memrun.OpenAI
	tensors       = memrun.Tensors
	text          = memrun.Text
)
