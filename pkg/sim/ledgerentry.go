package sim

// A Protocol is the API of a request.
type Protocol string

// The protocols.
const (
	OpenAIChat           Protocol = "openai_chat"            // POST /v1/chat/completions
	OpenAICompletions    Protocol = "openai_completions"     // POST /v1/completions
	OpenAIResponses      Protocol = "openai_responses"       // POST /v1/responses
	AnthropicMessages    Protocol = "anthropic_messages"     // POST /v1/messages
	SGLangGenerate       Protocol = "sglang_generate"        // POST /generate
	VLLMGenerate         Protocol = "vllm_generate"          // POST /inference/v1/generate
	Ollama               Protocol = "ollama"                 // POST /api/chat, /api/generate
	Gemini               Protocol = "gemini"                 // POST /v1beta/models/NAME:generateContent, :streamGenerateContent
	OpenAIEmbeddings     Protocol = "openai_embeddings"      // POST /v1/embeddings
	Realtime             Protocol = "realtime"               // GET /v1/realtime, WebSocket
	OpenAIRanking        Protocol = "openai_ranking"         // POST /v1/ranking, /rerank, /v1/rerank, /v2/rerank
	VLLMPooling          Protocol = "vllm_pooling"           // POST /pooling
	VLLMClassify         Protocol = "vllm_classify"          // POST /classify, /v1/classify
	VLLMScore            Protocol = "vllm_score"             // POST /score, /v1/score
	OpenAIImages         Protocol = "openai_images"          // POST /v1/images/generations
	OpenAITranscription  Protocol = "openai_transcription"   // POST /v1/audio/transcriptions, /v1/audio/translations
	OpenAISpeech         Protocol = "openai_speech"          // POST /v1/audio/speech
	TritonGRPCInfer      Protocol = "triton_grpc_infer"      // ModelInfer
	TritonGRPCStream     Protocol = "triton_grpc_stream"     // a request of ModelStreamInfer
	TritonHTTPInfer      Protocol = "triton_http_infer"      // POST /v2/models/M/infer
	TritonGenerate       Protocol = "triton_generate"        // POST /v2/models/M/generate
	TritonGenerateStream Protocol = "triton_generate_stream" // POST /v2/models/M/generate_stream
)

// An End is the outcome of a request.
type End string

// The ends.
const (
	EndRunning      End = ""              // still in flight
	EndOK           End = "ok"            // all was sent; faults of framing end so too
	EndError        End = "error"         // refused, or an error was sent: Code and Message
	EndFault        End = "fault"         // a fault cut the answer short
	EndClientGone   End = "client_gone"   // the client went away or cancelled
	EndServerClosed End = "server_closed" // the server was closed
)

// An Entry describes one request and its answer. Instants are 0 where the event did
// not happen. Its JSON form is one line of the ledger file and of GET /ledger.
type Entry struct {
	// Index numbers the requests from 0 in the order of arrival.
	Index    uint64   `json:"index"`
	Protocol Protocol `json:"protocol"`
	// ID is the id in the server's answer (OpenAI), or the request's own id as
	// received (Triton).
	ID string `json:"id"`
	// Model is the name of the model in the request.
	Model string `json:"model"`
	// Remote is the client's address.
	Remote string `json:"remote"`
	// ReceivedNS is when the request's header (HTTP) or message (gRPC) was read.
	ReceivedNS uint64 `json:"received_ns"`
	// ReceivedKernelNS is when the last segment of the request arrived, by the
	// kernel's stamp. It is 0 if unknown, for example for a gRPC call that shares
	// its connection and has no name (see sim.StreamHeader).
	ReceivedKernelNS uint64 `json:"received_kernel_ns,omitempty"`
	// StartedNS is when the work began: the request was read and had a slot. Due
	// times count from here.
	StartedNS uint64 `json:"started_ns"`
	// RequestBytes is the size of the request's body or message.
	RequestBytes int `json:"request_bytes"`
	// InputTokens and OutputTokens are the counts of the usage member.
	// OutputTokens is the planned number of all choices together.
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	// CachedTokens of the input tokens were in the prefix cache; nil without one.
	CachedTokens *int `json:"cached_tokens,omitempty"`
	// SequenceID, SequenceStart and SequenceEnd are the sequence parameters of a
	// request to a stateful model.
	SequenceID    uint64 `json:"sequence_id,omitempty"`
	SequenceStart bool   `json:"sequence_start,omitempty"`
	SequenceEnd   bool   `json:"sequence_end,omitempty"`
	// Fault is the fault planned for the request, usually "none".
	Fault string `json:"fault"`
	// Writes holds the sent bytes, in order, without HTTP headers and without the framing
	// of HTTP chunks and gRPC messages. Failed writes are absent.
	Writes []Write `json:"writes"`
	// EndedNS is when the last write was handed over, or the server gave up.
	EndedNS uint64 `json:"ended_ns"`
	End     End    `json:"end"`
	// Code is the HTTP status, or the gRPC code of an error. Message is the text
	// of the error.
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// A Write is one hand-over of bytes to the kernel.
type Write struct {
	// SentNS was read from the clock just before the write. Over HTTP this happens
	// below all buffers, so that only TLS lies between it and the kernel. Over gRPC
	// it happens before the library gets the message, which another goroutine
	// writes later.
	SentNS uint64 `json:"sent_ns"`
	// KernelNS is when the kernel handed the last byte to the device; 0 if unknown.
	// HTTP writes have it only with sim.Config.KernelSends, some writes later.
	// Messages of gRPC streams have it one message later, except on streams that
	// share a connection and have no name (see sim.StreamHeader).
	KernelNS uint64 `json:"kernel_ns,omitempty"`
	// DueNS is the due time of the write.
	DueNS uint64 `json:"due_ns"`
	// Bytes is the length of the write.
	Bytes int `json:"bytes"`
	// Events is the number of events (or messages) that end in this write, without
	// SSE comments. Tokens is the number of their output tokens.
	Events int `json:"events"`
	Tokens int `json:"tokens"`
	// Data holds the bytes, base64 in JSON. It is nil with Options.HashOnly and
	// Options.TimesOnly.
	Data []byte `json:"data,omitempty"`
	// SHA256 is the hash of the bytes in hexadecimal, set with Options.HashOnly.
	SHA256 string `json:"sha256,omitempty"`
}

// EventTimesNS returns when the last byte of each complete event (or message) was
// sent.
func (e *Entry) EventTimesNS() []uint64 {
	var times []uint64
	for _, w := range e.Writes {
		for range w.Events {
			times = append(times, w.SentNS)
		}
	}
	return times
}

// TokenTimesNS returns for each output token when the last byte of its event was
// sent.
func (e *Entry) TokenTimesNS() []uint64 {
	var times []uint64
	for _, w := range e.Writes {
		for range w.Tokens {
			times = append(times, w.SentNS)
		}
	}
	return times
}

// Sent returns all bytes that were sent. It is nil with Options.HashOnly and
// Options.TimesOnly.
func (e *Entry) Sent() []byte {
	var b []byte
	for _, w := range e.Writes {
		b = append(b, w.Data...)
	}
	return b
}
