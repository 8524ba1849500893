package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/internal/jsonscan"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// An API is a format of request bodies.
type API uint8

// The supported APIs.
const (
	Chat           API = iota + 1 // v1/chat/completions
	Completions                   // v1/completions
	Embeddings                    // v1/embeddings
	Responses                     // v1/responses
	Generate                      // Triton's v2/models/NAME/generate and generate_stream
	TGI                           // Hugging Face's generate and generate_stream
	Ranking                       // NVIDIA NIM's v1/ranking
	Rerank                        // v1/rerank and v2/rerank, as Cohere's, Jina's and vLLM's
	TEIRerank                     // rerank of Hugging Face's Text Embeddings Inference
	ImageRetrieval                // NVIDIA NIM's v1/infer
	Messages                      // Anthropic's v1/messages
	GenerateIDs                   // vLLM's inference/v1/generate
	SGLangGenerate                // SGLang's generate: see API.For
	Pooling                       // vLLM's pooling
	Classify                      // vLLM's classify
	Score                         // vLLM's score and v1/score
	Images                        // v1/images/generations
	Transcription                 // v1/audio/transcriptions and v1/audio/translations
	Speech                        // v1/audio/speech
	OllamaChat                    // Ollama's api/chat
	OllamaGenerate                // Ollama's api/generate
	Gemini                        // Google's models/NAME:generateContent and :streamGenerateContent
	Realtime                      // v1/realtime, over WebSocket
)

// endpoints holds the ends of the paths of APIs; the first that fits a path counts.
var endpoints = [...]struct {
	suffix string
	api    API
	before string // what stands before suffix in the usual path
}{
	{"chat/completions", Chat, "v1/"},
	{"completions", Completions, "v1/"},
	{"embeddings", Embeddings, "v1/"},
	{"responses", Responses, "v1/"},
	{"v1/messages", Messages, ""},
	{"audio/transcriptions", Transcription, "v1/"},
	{"audio/translations", Transcription, "v1/"},
	{"audio/speech", Speech, "v1/"},
	{"ranking", Ranking, "v1/"},
	{"v1/rerank", Rerank, ""},
	{"v2/rerank", Rerank, ""},
	{"rerank", TEIRerank, ""},
	{"pooling", Pooling, ""},
	{"classify", Classify, ""},
	{"score", Score, ""},
	{"images/generations", Images, "v1/"},
	{"v1/infer", ImageRetrieval, ""},
	{"inference/v1/generate", GenerateIDs, ""},
	{"api/chat", OllamaChat, ""},
	{"api/generate", OllamaGenerate, ""},
	{":generateContent", Gemini, "v1beta/models/NAME"},
	{":streamGenerateContent", Gemini, "v1beta/models/NAME"},
	{"v1/realtime", Realtime, ""},
	{"generate", Generate, ""},
	{"generate_stream", Generate, ""},
}

// APIOf returns the API of an endpoint, a path without query. ok is false for an unknown one.
func APIOf(endpoint string) (api API, ok bool) {
	path := strings.Trim(endpoint, "/")
	for _, e := range endpoints {
		if path == e.suffix || strings.HasSuffix(path, "/"+e.suffix) || e.api == Gemini && strings.HasSuffix(path, e.suffix) {
			if e.api == Generate && !strings.Contains(path, "models/") {
				return TGI, true
			}
			return e.api, true
		}
	}
	return 0, false
}

// For returns the API of an endpoint whose path two servers have: SGLang's generate for the style SGLang, else a itself.
func (a API) For(s Style) API {
	if a == TGI && s == SGLang {
		return SGLangGenerate
	}
	return a
}

// TakesIDs reports whether a request can hold the prompt as token ids.
func (a API) TakesIDs() bool { return a == Completions || a.nestsSampling() }

// nestsSampling reports whether a request holds its sampling parameters in sampling_params.
func (a API) nestsSampling() bool { return traits[a].nests }

// AsksLength reports whether a request can ask for the length of the answer, in the APIs of OpenAI, Anthropic, vLLM and SGLang.
func (a API) AsksLength() bool { return a.LengthMembers() != nil || a.nestsSampling() }

// Endpoints returns the ends of the paths that APIOf knows.
func Endpoints() []string {
	all := make([]string, len(endpoints))
	for i := range endpoints {
		all[i] = endpoints[i].suffix
	}
	return all
}

// UsualEndpoints returns the usual path for each of [Endpoints], in the same order.
func UsualEndpoints() []string {
	all := Endpoints()
	for i := range endpoints {
		all[i] = endpoints[i].before + all[i]
	}
	return all
}

// Body returns the request for p as compact JSON. A prompt with a complete request is
// sent unchanged with any options.
func Body(api API, p *workload.Prompt, o Options) ([]byte, error) {
	if p.Body != nil {
		return openai.AppendCompact(nil, p.Body)
	}
	if o.Template != nil {
		return filled(p, &o)
	}
	o.Usage = o.Usage && api.Usage() == UsageAsked
	var b object
	var err error
	switch api {
	case Chat:
		err = b.chat(p, o)
	case Completions:
		err = b.completions(p, o)
	case Embeddings:
		err = b.embeddings(p, o)
	case Responses:
		err = b.responses(p, o)
	case Messages:
		err = b.messages(p, o)
	case Transcription:
		err = b.transcription(p, o)
	case Speech:
		err = b.speech(p, o)
	case OllamaChat, OllamaGenerate:
		err = b.ollama(api, p, o)
	case Gemini:
		err = b.gemini(p, o)
	case Ranking, Rerank, TEIRerank:
		err = b.ranking(api, p, o)
	case Pooling, Classify:
		err = b.pooling(p, o)
	case Score:
		err = b.score(p, o)
	case Images:
		err = b.images(p, o)
	case ImageRetrieval:
		err = b.imageRetrieval(p)
	case Generate:
		err = b.generate(p, o)
	case TGI:
		err = b.tgi(p, o)
	case GenerateIDs:
		err = b.generateIDs(p, o)
	case SGLangGenerate:
		err = b.sglang(p, o)
	case Realtime:
		err = errors.New("v1/realtime sends audio over WebSocket, and no request bodies")
	default:
		err = errors.New("no request format for prompts is known for this endpoint; give whole requests")
	}
	if err != nil {
		return nil, err
	}
	if len(p.Extra) == 0 {
		return b.close(), nil
	}
	extra := p.Extra
	switch {
	case api == Messages:
		extra, err = anthropicExtra(extra)
	case api == Responses:
		extra = responsesExtra(extra)
	case api == OllamaChat, api == OllamaGenerate:
		_, extra = ollamaSettings.move(extra)
	case api == Gemini:
		extra, err = geminiExtra(extra)
	case api.nestsSampling():
		if extra = outsideSampling(extra); len(extra) == 0 {
			return b.close(), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return openai.MergeRequest(b.close(), fields(extra))
}

// An apiTraits says what sets the requests of an API apart. The zero value is of an API of no service whose members pa-record knows.
type apiTraits struct {
	keyHeader, keyVariable string   // "": Authorization and OPENAI_API_KEY
	prompt, instructions   string   // members: see PromptMember and InstructionsMember
	lengths                []string // see LengthMembers
	converses, ranks       bool
	noLength, noLeast      bool // requests cannot ask for the length, or for a least length, of the answer
	modelInPath, nests     bool // see ModelInPath and nestsSampling
	usage                  Usage
}

// A Usage says whether a streamed answer of an API has the server's numbers of tokens.
type Usage uint8

// The kinds of usage.
const (
	UsageOwn    Usage = iota // the API has no member that asks for them
	UsageAsked               // a request can ask for them: see Options.Usage
	UsageAlways              // it always has them
)

var traits = [...]apiTraits{
	Chat:           {prompt: "messages", lengths: []string{"max_tokens", "max_completion_tokens"}, converses: true, usage: UsageAsked},
	Completions:    {prompt: "prompt", lengths: []string{"max_tokens"}, usage: UsageAsked},
	Embeddings:     {prompt: "input", noLength: true},
	Responses:      {prompt: "input", instructions: "instructions", lengths: []string{"max_output_tokens"}, converses: true, noLeast: true},
	Generate:       {modelInPath: true},
	Ranking:        {ranks: true, noLength: true},
	Rerank:         {ranks: true, noLength: true},
	TEIRerank:      {ranks: true, noLength: true},
	ImageRetrieval: {noLength: true},
	Messages:       {keyHeader: "x-api-key", keyVariable: "ANTHROPIC_API_KEY", prompt: "messages", instructions: "system", lengths: []string{"max_tokens"}, converses: true, usage: UsageAlways},
	GenerateIDs:    {nests: true, usage: UsageAsked},
	SGLangGenerate: {nests: true, usage: UsageAlways},
	Pooling:        {prompt: "input", noLength: true},
	Classify:       {prompt: "input", noLength: true},
	Score:          {ranks: true, noLength: true},
	Images:         {prompt: "prompt", noLength: true},
	Transcription:  {noLength: true, usage: UsageAsked},
	Speech:         {prompt: "input", noLength: true},
	OllamaChat:     {keyVariable: "OLLAMA_API_KEY", prompt: "messages", lengths: []string{"options.num_predict"}, converses: true, noLeast: true},
	OllamaGenerate: {keyVariable: "OLLAMA_API_KEY", prompt: "prompt", lengths: []string{"options.num_predict"}, noLeast: true},
	Gemini: {
		keyHeader: "x-goog-api-key", keyVariable: "GEMINI_API_KEY", prompt: "contents", instructions: "systemInstruction",
		lengths: []string{"generationConfig.maxOutputTokens"}, converses: true, noLeast: true, modelInPath: true,
	},
	Realtime: {noLength: true},
}

// KeyHeader returns the header that holds a key, and its value.
func (a API) KeyHeader(key string) (name, value string) {
	if name = traits[a].keyHeader; name != "" {
		return name, key
	}
	return "Authorization", "Bearer " + key
}

// KeyVariable returns the environment variable with the key of the API's own service.
func (a API) KeyVariable() string { return cmp.Or(traits[a].keyVariable, "OPENAI_API_KEY") }

// Converses reports whether requests hold the messages of a conversation.
func (a API) Converses() bool { return traits[a].converses }

// InstructionsMember returns the member of a request that holds the instructions of a conversation; "" if they are among its
// messages.
func (a API) InstructionsMember() string { return traits[a].instructions }

// ModelInPath reports whether the path of a request names the model, and not its body.
func (a API) ModelInPath() bool { return traits[a].modelInPath }

// LeastLength reports whether a request can ask for a least length of the answer.
func (a API) LeastLength() bool { return !traits[a].noLeast }

// Usage reports whether a streamed answer has the server's numbers of tokens.
func (a API) Usage() Usage { return traits[a].usage }

// Ranks reports whether requests hold a query and texts to rank.
func (a API) Ranks() bool { return traits[a].ranks }

// AsksNoLength reports whether requests cannot ask for a length of the answer, because the answer has no text.
func (a API) AsksNoLength() bool { return traits[a].noLength }

// PromptMember returns the member of a request that holds the prompt, or the messages of a conversation; "" for other APIs
// than OpenAI's, Anthropic's, Ollama's and Google's.
func (a API) PromptMember() string { return traits[a].prompt }

// LengthMembers returns the members of a request that can hold the length of the answer in the APIs
// of OpenAI, Anthropic, Ollama and Google, the usual one first; nil for the other APIs. "a.b" is member b of the object a.
func (a API) LengthMembers() []string { return slices.Clone(traits[a].lengths) }

// An object is a JSON object under construction.
type object struct{ b []byte }

// raw appends a member with a JSON value.
func (b *object) raw(name string, value []byte) {
	if b.b == nil {
		b.b = append(b.b, '{')
	} else {
		b.b = append(b.b, ',')
	}
	b.b = append(append(append(b.b, quote(name)...), ':'), value...)
}

func (b *object) text(name, value string) { b.raw(name, quote(value)) }
func (b *object) number(name string, n int) {
	b.raw(name, fmt.Append(nil, n))
}
func (b *object) flag(name string) { b.raw(name, []byte("true")) }

// texts appends a list of texts. A single text is a string, unless list is set.
func (b *object) texts(name string, all []string, list bool) {
	if len(all) == 1 && !list {
		b.text(name, all[0])
		return
	}
	b.raw(name, quoteAll(all))
}

// close ends the object and returns it.
func (b *object) close() []byte {
	if b.b == nil {
		return []byte("{}")
	}
	return append(b.b, '}')
}

// quote returns a JSON string. Bytes that are not UTF-8 become U+FFFD.
func quote(s string) []byte {
	b, _ := jsontext.AppendQuote(nil, s) // the error is about UTF-8
	return b
}

func quoteAll(all []string) []byte {
	b := []byte{'['}
	for i, s := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(s)...)
	}
	return append(b, ']')
}

// fields returns f as a JSON object, nil if f is empty.
func fields(f export.Fields) []byte {
	if len(f) == 0 {
		return nil
	}
	var o object
	for _, m := range f {
		o.raw(m.Name, m.Value.Data)
	}
	return o.close()
}

// plainTexts returns the texts of p for services without roles. As in GenAI-Perf, it joins
// instructions and text, or the messages of a conversation, by spaces.
func plainTexts(p *workload.Prompt) ([]string, error) {
	if p.Messages != nil {
		text, err := plainMessages(p.Messages)
		return []string{text}, err
	}
	if p.Text == "" && p.IDs != nil {
		return nil, errors.New("it holds token ids, which go to v1/completions, inference/v1/generate, and SGLang's generate (--backend sglang)")
	}
	first := p.Text
	if p.System != "" {
		first = strings.TrimSpace(p.System + " " + p.Text)
	}
	return append([]string{first}, p.More...), nil
}

// plainMessages joins the texts of a conversation.
func plainMessages(js []byte) (string, error) {
	var all []struct{ Content json.RawMessage }
	if err := json.Unmarshal(js, &all); err != nil {
		return "", jsonscan.InWords(err)
	}
	var texts []string
	for _, m := range all {
		var text string
		var parts []struct{ Text string }
		switch {
		case json.Unmarshal(m.Content, &text) == nil:
			texts = append(texts, text)
		case json.Unmarshal(m.Content, &parts) == nil:
			for _, p := range parts {
				texts = append(texts, p.Text)
			}
		}
	}
	return strings.Join(texts, " "), nil
}

// noMedia returns an error if p has images or audio, which the service does not accept.
func noMedia(p *workload.Prompt, service string) error {
	if len(p.Media) > 0 {
		return fmt.Errorf("%s take no %v; use the chat endpoint", service, p.Media[0].Kind)
	}
	return nil
}
