package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim/plan"
)

// A geminiRequest is the body of a request to Gemini.
type geminiRequest struct {
	requestFields
	Contents []struct {
		Role  json.RawMessage   `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	} `json:"contents"`
	SystemInstruction struct {
		Parts json.RawMessage `json:"parts"`
	} `json:"systemInstruction"`
	Tools json.RawMessage `json:"tools"`
	// ToolConfig with the mode ANY makes the rest of the tokens a call of the first function.
	ToolConfig struct {
		FunctionCallingConfig struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		MaxOutputTokens *number `json:"maxOutputTokens"`
		Seed            *number `json:"seed"`
		// ThinkingConfig with includeThoughts makes the first half of the tokens a thought.
		ThinkingConfig struct {
			IncludeThoughts bool `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
	// Unknown puts an event that no client knows before each event with a token.
	Unknown bool `json:"sim_unknown_events"`
}

// chat returns the request as a chat, whose tokens are counted and cached.
func (q *geminiRequest) chat(model string) (*openAIRequest, error) {
	c := &openAIRequest{requestFields: q.requestFields, Model: model, Tools: q.Tools}
	if len(q.SystemInstruction.Parts) > 0 {
		c.Messages = append(c.Messages, openAIMessage{Role: json.RawMessage(`"system"`), Content: q.SystemInstruction.Parts})
	}
	if len(q.Contents) == 0 {
		return nil, errors.New("contents: expected at least one")
	}
	for _, content := range q.Contents {
		m := openAIMessage{Role: content.Role}
		type part struct {
			Text string `json:"text"`
		}
		parts := []part{}
		for _, raw := range content.Parts {
			var p struct {
				Text             string          `json:"text"`
				FunctionCall     json.RawMessage `json:"functionCall"`
				FunctionResponse struct {
					Response json.RawMessage `json:"response"`
				} `json:"functionResponse"`
			}
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, fmt.Errorf("contents: %w", err)
			}
			m.ToolCalls = append(m.ToolCalls, p.FunctionCall...)
			parts = append(parts, part{p.Text + string(p.FunctionResponse.Response)})
		}
		m.Content, _ = json.Marshal(parts) // texts are always JSON
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// tool returns the name of the function that the answer must call; "" for none.
func (q *geminiRequest) tool() string {
	var tools []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	}
	if q.ToolConfig.FunctionCallingConfig.Mode != "ANY" || json.Unmarshal(q.Tools, &tools) != nil || len(tools) == 0 || len(tools[0].Functions) == 0 {
		return ""
	}
	return tools[0].Functions[0].Name
}

// serveGemini answers models/NAME:generateContent and :streamGenerateContent.
func serveGemini(x *exchange) {
	model, call, _ := strings.Cut(x.r.PathValue("call"), ":")
	if call != "generateContent" && call != "streamGenerateContent" {
		x.fail(http.StatusNotFound, "there is no call "+clip(call)+" here, only generateContent and streamGenerateContent")
		return
	}
	var q geminiRequest
	if !x.parse(&q) {
		return
	}
	id, ok := x.resolveModel(&model, "gemini")
	if !ok {
		return
	}
	q.MaxTokens = q.GenerationConfig.MaxOutputTokens
	if q.GenerationConfig.Seed != nil {
		q.Seed = q.GenerationConfig.Seed
	}
	chat, err := q.chat(model)
	if err == nil && call == "streamGenerateContent" && x.r.URL.Query().Get("alt") != "sse" {
		err = errors.New("streams need alt=sse here")
	}
	p, ok := x.plannedChat(chat, err)
	if !ok {
		return
	}
	defer x.s.release()
	t := geminiRenderer{id: id, model: model, newline: newline(p.Fault), usage: !x.s.config.OmitUsage, thinks: q.GenerationConfig.ThinkingConfig.IncludeThoughts, tool: q.tool(), unknown: q.Unknown}
	if call == "streamGenerateContent" {
		w := plan.Framing{SSE: true, Newline: t.newline, Garbage: []byte(garbage), ErrorEnds: true, Failure: func() []byte {
			return frame(geminiErrorBody(http.StatusInternalServerError, errorEventMessage), t.newline)
		}}
		x.answer(sseType, -1, p, plan.Script(t.events(p), p.Fault, p.FaultAfter, w))
		return
	}
	thought, text, end := thoughtAndText(p, thoughtTokens(p, t.thinks))
	parts := t.part(text, false)
	if t.tool != "" {
		parts = t.call(text)
	}
	if thoughtTokens(p, t.thinks) > 0 {
		parts = t.part(thought, true) + "," + parts
	}
	x.answerWhole(p, t.body(p, parts, true), end)
}

// A geminiRenderer renders answers of Gemini: an event for each token. The call of a function is one event with all of its tokens.
type geminiRenderer struct {
	id, model string
	newline   string
	usage     bool
	thinks    bool
	tool      string // called; "" for none
	unknown   bool
}

// part returns a part with a text.
func (t *geminiRenderer) part(text string, thought bool) string {
	part := `{"text":` + string(appendString(nil, text))
	if thought {
		part += `,"thought":true`
	}
	return part + "}"
}

// call returns a part with the call of the function.
func (t *geminiRenderer) call(text string) string {
	return `{"functionCall":{"name":` + string(appendString(nil, t.tool)) + `,"args":{"text":` + string(appendString(nil, text)) + `}}}`
}

// body returns an answer, or a part of one, with these parts.
func (t *geminiRenderer) body(p *plan.Plan, parts string, ended bool) []byte {
	b := []byte(`{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}`)
	if ended {
		reason := "STOP"
		if p.FinishReason(0) == "length" {
			reason = "MAX_TOKENS"
		}
		b = append(b, `,"finishReason":"`+reason+`"`...)
	}
	b = append(b, `,"index":0}]`...)
	if ended && t.usage {
		thoughts := thoughtTokens(p, t.thinks)
		b = fmt.Appendf(b, `,"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d,"totalTokenCount":%d`, p.InputTokens, p.OutputTokens()-thoughts, p.InputTokens+p.OutputTokens())
		if thoughts > 0 {
			b = fmt.Appendf(b, `,"thoughtsTokenCount":%d`, thoughts)
		}
		if p.CachedTokens >= 0 {
			b = fmt.Appendf(b, `,"cachedContentTokenCount":%d`, p.CachedTokens)
		}
		b = append(b, '}')
	}
	b = appendString(append(b, `,"modelVersion":`...), t.model)
	b = appendString(append(b, `,"responseId":`...), t.id)
	return append(b, '}')
}

// events returns the stream.
func (t *geminiRenderer) events(p *plan.Plan) iter.Seq[plan.Event] {
	return func(yield func(plan.Event) bool) {
		var at time.Duration
		send := func(body []byte, tokens int, kind plan.EventKind) bool {
			return yield(plan.Event{At: at, Data: frame(body, t.newline), Tokens: tokens, Kind: kind})
		}
		sent, thoughts, called := 0, thoughtTokens(p, t.thinks), 0
		var arguments strings.Builder
		for s := range p.Steps() {
			at = s.At
			thought := sent < thoughts
			if sent += s.Tokens; t.tool != "" && !thought {
				arguments.WriteString(s.Text)
				called += s.Tokens
				continue
			}
			if t.unknown && !send([]byte(`{"simUnknown":{"text":"not known"},"modelVersion":"sim"}`), 0, plan.EventOutput) {
				return
			}
			if !send(t.body(p, t.part(s.Text, thought), false), s.Tokens, plan.EventOutput) {
				return
			}
		}
		if called > 0 && !send(t.body(p, t.call(arguments.String()), false), called, plan.EventOutput) {
			return
		}
		send(t.body(p, `{"text":""}`, true), 0, plan.EventDone)
	}
}

// geminiErrorBody returns the body of an error of Gemini.
func geminiErrorBody(code int, message string) []byte {
	status := map[int]string{
		http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusNotFound: "NOT_FOUND",
		http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
	}[code]
	if status == "" {
		status = "INTERNAL"
	}
	b := appendString(fmt.Appendf(nil, `{"error":{"code":%d,"message":`, code), message)
	return append(b, `,"status":"`+status+`"}}`...)
}
