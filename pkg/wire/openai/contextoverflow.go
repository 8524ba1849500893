package openai

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// overflowCodes are the codes and types of an error about a request that is longer than the context of the model:
// OpenAI and llama.cpp.
var overflowCodes = []string{"context_length_exceeded", "exceed_context_size_error"}

// overflowText matches the messages about such a request. It asks for words about the prompt or the context of the model, so
// that no message about the length of the answer alone, a rate limit or the size of a body matches.
var overflowText = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`maximum context length`,                                                    // OpenAI, vLLM, SGLang
	`longer than the (model'?s context|maximum model) length`,                   // SGLang, vLLM
	`exceeds?( the)? (available|maximum|model'?s) context (size|length|window)`, // llama.cpp
	`exceeds? (the|its) context (size|length|window)`,                           // Ollama, LM Studio
	`context (length|window|size) (was |is )?exceed`,
	`prompt is too long`,                                                 // Anthropic
	`prompt length.{0,80}(exceeds|should not exceed) (the )?max`,         // TensorRT-LLM
	`default_max_tokens.{0,20} (must|should) be greater than 0`,          // TensorRT-LLM: the prompt leaves no token
	"`inputs` (tokens \\+ `max_new_tokens` must be|must have less than)", // TGI
	`input token count.{0,40}exceeds the maximum number of tokens`,       // Gemini
}, "|"))

// ContextOverflow reports whether the error is about a request that is longer than the context of the model.
func (e *Error) ContextOverflow() bool {
	return slices.Contains(overflowCodes, e.Code) || slices.Contains(overflowCodes, e.Type) || overflowText.MatchString(e.Message)
}

// IsContextOverflow reports whether the body of an answer with an HTTP status of 400 and above says that the request is longer
// than the context of the model. Statuses other than 400, 413 and 422 say something else.
func IsContextOverflow(status int, body []byte) bool {
	switch status {
	case 400, 413, 422:
		return errorOf(body).ContextOverflow()
	}
	return false
}

// errorOf returns the error that the body of an answer with an error status holds. The message of a body without one is its
// text.
func errorOf(body []byte) *Error {
	text := errorText(body)
	if len(text) > 0 && text[0] == '{' {
		if e := findAnyError(text); e != nil {
			return e
		}
	}
	return &Error{Message: string(bytes.TrimSpace(text))}
}
