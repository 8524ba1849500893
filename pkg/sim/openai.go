package sim

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// sseType is the content type of streams.
const sseType = "text/event-stream; charset=utf-8"

// errorEventMessage is the text of an error within a stream.
const errorEventMessage = "the fault error_event was asked for"

// garbage is an SSE event that is neither JSON nor UTF-8.
const garbage = "data: {\"id\":\"sim\",\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\x00\xc3(\n\n"

// An openAIRequest is the body of a chat completion or a completion.
type openAIRequest struct {
	requestFields
	Model         string          `json:"model"`
	Messages      []openAIMessage `json:"messages"`
	Tools         json.RawMessage `json:"tools"`
	Prompt        json.RawMessage `json:"prompt"`
	Stream        bool            `json:"stream"`
	N             *number         `json:"n"`
	StreamOptions struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

type openAIMessage struct {
	Role      json.RawMessage `json:"role"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Content   json.RawMessage `json:"content"`
}

// openAIHandler returns the handler of the OpenAI API.
func (s *Server) openAIHandler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range [...]struct {
		path     string
		protocol Protocol
		serve    func(*exchange)
	}{
		{"POST /v1/chat/completions", OpenAIChat, serveOpenAI},
		{"POST /v1/completions", OpenAICompletions, serveOpenAI},
		{"POST /v1/responses", OpenAIResponses, serveResponses},
		{"POST /v1/messages", AnthropicMessages, serveMessages},
		{"POST /generate", SGLangGenerate, serveIDs},
		{"POST /inference/v1/generate", VLLMGenerate, serveIDs},
		{"POST /api/chat", Ollama, serveOllama},
		{"POST /api/generate", Ollama, serveOllama},
		{"POST /v1beta/models/{call}", Gemini, serveGemini},
		{"POST /v1/embeddings", OpenAIEmbeddings, serveVectors},
		{"GET /v1/realtime", Realtime, serveRealtime},
		{"POST /v1/ranking", OpenAIRanking, serveVectors},
		{"POST /rerank", OpenAIRanking, serveVectors},
		{"POST /v1/rerank", OpenAIRanking, serveVectors},
		{"POST /v2/rerank", OpenAIRanking, serveVectors},
		{"POST /pooling", VLLMPooling, serveVectors},
		{"POST /classify", VLLMClassify, serveVectors},
		{"POST /v1/classify", VLLMClassify, serveVectors},
		{"POST /score", VLLMScore, serveVectors},
		{"POST /v1/score", VLLMScore, serveVectors},
		{"POST /v1/images/generations", OpenAIImages, serveImages},
		{"POST /v1/audio/transcriptions", OpenAITranscription, serveTranscription},
		{"POST /v1/audio/translations", OpenAITranscription, serveTranscription},
		{"POST /v1/audio/speech", OpenAISpeech, serveSpeech},
	} {
		method, path, _ := strings.Cut(e.path, " ")
		errorBody := openAIErrorBody
		switch e.protocol {
		case AnthropicMessages:
			errorBody = messagesErrorBody
		case Ollama:
			errorBody = plainErrorBody
		case Gemini:
			errorBody = geminiErrorBody
		}
		mux.Handle(path, s.authorized(errorBody, allowMethod(method, s.inference(e.protocol, errorBody, s.counted(e.serve)))))
	}
	mux.Handle("/v1/models", s.authorized(openAIErrorBody, allowMethod(http.MethodGet, s.listModels)))
	mux.Handle("/health", allowMethod(http.MethodGet, func(http.ResponseWriter, *http.Request) {}))
	mux.Handle("/ledger", allowMethod(http.MethodGet, s.serveLedger))
	mux.Handle("/metrics", serveMetrics(func(t *metricsText) { s.engine.write(t, s.config.Models[0]) }))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	})
	return mux
}

// counted is serve for requests that the metrics of the engine count.
func (s *Server) counted(serve func(*exchange)) func(*exchange) {
	return func(x *exchange) {
		x.engine, x.rec.Counter = s.engine, s.engine
		serve(x)
	}
}

// allowMethod rejects other methods.
func allowMethod(method string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (r.Method != http.MethodHead || method != http.MethodGet) {
			w.Header().Set("Allow", method)
			writeJSON(w, http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
			return
		}
		h(w, r)
	}
}

// authorized rejects requests without the API key, which is a bearer token, x-api-key as for Anthropic, or x-goog-api-key as
// for Gemini.
func (s *Server) authorized(errorBody func(code int, message string) []byte, h http.HandlerFunc) http.HandlerFunc {
	if s.config.APIKey == "" {
		return h
	}
	key := []byte(s.config.APIKey)
	want := []byte("Bearer " + s.config.APIKey)
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 &&
			subtle.ConstantTimeCompare([]byte(r.Header.Get("x-api-key")), key) != 1 &&
			subtle.ConstantTimeCompare([]byte(r.Header.Get("x-goog-api-key")), key) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeJSON(w, http.StatusUnauthorized, errorBody(http.StatusUnauthorized, "the API key is missing or wrong"))
			return
		}
		h(w, r)
	}
}

// serveLedger writes the ledger as JSON lines. ?wait=true waits until no request is in
// flight; ?since=N omits the requests before index N.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("wait") == "true" {
		if err := s.Wait(r.Context()); err != nil {
			return // the client is gone, or the server closes
		}
	}
	var since uint64
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = strconv.ParseUint(text, 10, 64); err != nil {
			writeJSON(w, http.StatusBadRequest, openAIErrorBody(http.StatusBadRequest, "since is not the index of a request"))
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_ = s.ledger.WriteSince(w, since) // fails only when the client is gone
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"`
		OwnedBy     string `json:"owned_by"`
		Root        string `json:"root"`
		MaxModelLen int    `json:"max_model_len"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list"}
	for _, m := range s.config.Models {
		list.Data = append(list.Data, model{m, "model", time.Now().Unix(), "sim", m, s.config.ContextTokens})
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and numbers only
	}
	writeJSON(w, http.StatusOK, b)
}

// serveOpenAI answers a request for a chat completion or a completion.
func serveOpenAI(x *exchange) {
	s := x.s
	chat := strings.HasPrefix(x.r.URL.Path, "/v1/chat/")
	var q openAIRequest
	if !x.parse(&q) {
		return
	}
	prefix := "cmpl"
	if chat {
		prefix = "chatcmpl"
	}
	id, ok := x.resolveModel(&q.Model, prefix)
	if !ok {
		return
	}
	a, err := s.openAIPlanRequest(x.index, &q, chat)
	if err == nil && s.cache != nil {
		x.prompts = s.cache.prompts(&q, chat)
	}
	p, ok := x.planned(a, err, plan.New)
	if !ok {
		return
	}
	defer s.release()
	t := openAIRenderer{
		chat: chat, id: id, model: q.Model, created: x.rec.Start.Unix(), newline: newline(p.Fault),
		usage:      q.StreamOptions.IncludeUsage && !s.config.OmitUsage,
		continuous: q.StreamOptions.IncludeUsage && q.StreamOptions.ContinuousUsage && !s.config.OmitUsage,
		wholeUsage: !s.config.OmitUsage,
	}
	if t.details = detailsOf(s.config.ServerDetails); t.details != nil {
		e := x.rec.Entry()
		t.queue, t.started = between(e.ReceivedNS, e.StartedNS), x.rec.Start
	}
	if q.Stream {
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, t.framing()))
		return
	}
	body, end := t.body(p)
	x.answerWhole(p, body, end)
}

// planned plans the answer to a request, unless err is a mistake in it, and waits for a slot; the caller must then call
// s.release. If ok is false the request is answered: with the mistake, or a fault before the answer.
func (x *exchange) planned(a plan.Request, err error, newPlan func(seed uint64, a plan.Request) *plan.Plan) (p *plan.Plan, ok bool) {
	if err != nil {
		x.fail(http.StatusBadRequest, err.Error())
		return nil, false
	}
	p = newPlan(x.s.config.Seed, a)
	x.describe(p)
	if x.strikeEarly(p.Fault) || !x.begin() {
		return p, false
	}
	x.readCache(p)
	return p, true
}

// plannedChat is planned for a request in the form of a chat; err is a mistake in it.
func (x *exchange) plannedChat(chat *openAIRequest, err error) (p *plan.Plan, ok bool) {
	var a plan.Request
	if err == nil {
		a, err = x.s.openAIPlanRequest(x.index, chat, true)
	}
	if err == nil && x.s.cache != nil {
		x.prompts = x.s.cache.prompts(chat, true)
	}
	return x.planned(a, err, plan.New)
}

// parse parses the body of a request into q. If that fails it answers the request and
// returns false.
func (x *exchange) parse(q any) bool {
	if err := json.Unmarshal(x.body, q); err != nil {
		x.fail(http.StatusBadRequest, "the body is not a valid request: "+err.Error())
		return false
	}
	return true
}

// resolveModel resolves the model of a request and enters it and the id of the answer
// into the ledger. The id begins with prefix. ok is false if there is no such model;
// resolveModel has then answered the request.
func (x *exchange) resolveModel(model *string, prefix string) (id string, ok bool) {
	all := x.s.config.Models
	if *model == "" {
		*model = all[0]
	}
	id = fmt.Sprintf("%s-sim-%d", prefix, x.index)
	x.rec.Update(func(e *Entry) { e.ID, e.Model = id, *model })
	if !slices.Contains(all, *model) {
		x.fail(http.StatusNotFound, fmt.Sprintf("there is no model %q here, only %s", clip(*model), strings.Join(all, ", ")))
		return "", false
	}
	return id, true
}

// describe records the plan in the ledger.
func (x *exchange) describe(p *plan.Plan) {
	x.rec.Update(func(e *Entry) {
		e.InputTokens, e.OutputTokens, e.Fault = p.InputTokens, p.OutputTokens(), p.Fault.String()
	})
}

// answerWhole sends an answer without streaming.
func (x *exchange) answerWhole(p *plan.Plan, body []byte, end time.Duration) {
	if p.Fault == plan.FaultErrorEvent {
		if err := sleepUntil(x.r.Context(), x.rec.Start.Add(end)); err != nil {
			x.rec.End(x.s.endReason(), 0, "")
			return
		}
		x.fail(http.StatusInternalServerError, errorEventMessage)
		return
	}
	length := len(body)
	if p.Fault == plan.FaultGarbage {
		length = len(body)/2 + len(garbage)
	}
	one := func(yield func(plan.Event) bool) {
		yield(plan.Event{At: end, Data: body, Tokens: p.OutputTokens(), Kind: plan.EventBody})
	}
	// after is 0: a fault strikes a body with any number of tokens.
	x.answer("application/json", length, p, plan.Script(one, p.Fault, 0, plan.Framing{SSE: true, Garbage: []byte(garbage)}))
}

// openAIPlanRequest resolves the settings of a body.
func (s *Server) openAIPlanRequest(index uint64, q *openAIRequest, chat bool) (plan.Request, error) {
	n, err := q.N.whole("n", 1, maxChoices, 1)
	if err != nil {
		return plan.Request{}, err
	}
	var counts []int
	var texts []string
	if chat {
		count := 0
		for i, m := range q.Messages {
			tokens, err := s.contentTokens(m.Content)
			if err != nil {
				return plan.Request{}, fmt.Errorf("messages[%d].content: %w", i, err)
			}
			count += tokens
		}
		if len(q.Messages) == 0 {
			return plan.Request{}, errors.New("messages: expected at least one")
		}
		counts = []int{count}
		q.Echo = false
	} else if counts, texts, err = s.completionPrompts(q.Prompt); err != nil {
		return plan.Request{}, err
	}
	return s.planRequest(index, &q.requestFields, counts, texts, n)
}

// countTokens returns the number of input tokens of a text.
func (s *Server) countTokens(text string) int {
	if s.config.Encode == nil {
		return countWords(text)
	}
	return len(s.config.Encode(nil, text))
}

// contentTokens counts the tokens of the content of a message: a text, a list of parts, or
// nothing.
func (s *Server) contentTokens(content json.RawMessage) (int, error) {
	texts, err := contentTexts(content)
	n := 0
	for _, text := range texts {
		n += s.countTokens(text)
	}
	return n, err
}

// contentTexts returns the texts of the content of a message.
func contentTexts(content json.RawMessage) (texts []string, err error) {
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []string{text}, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return nil, errors.New("expected a string or a list of parts")
	}
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return texts, nil
}

var errPrompt = errors.New("prompt: expected a string, a list of strings, or token ids")

// completionPrompts returns the input tokens of each prompt, and the prompts
// themselves (empty for token ids).
func (s *Server) completionPrompts(raw json.RawMessage) (counts []int, texts []string, err error) {
	var one string
	var ids []int64
	var manyIDs [][]int64
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil, errPrompt
	case json.Unmarshal(raw, &one) == nil:
		texts = []string{one}
	case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		return []int{len(ids)}, []string{""}, nil
	case json.Unmarshal(raw, &manyIDs) == nil && len(manyIDs) > 0:
		for _, p := range manyIDs {
			counts = append(counts, len(p))
		}
		return counts, make([]string, len(counts)), nil
	case json.Unmarshal(raw, &texts) == nil && len(texts) > 0:
	default:
		return nil, nil, errPrompt
	}
	for _, t := range texts {
		counts = append(counts, s.countTokens(t))
	}
	return counts, texts, nil
}
