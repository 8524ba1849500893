package tokenizer

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A rebuiltClass holds the components with which a tokenizer class of transformers 5
// replaces the components of a tokenizer.json. Components are JSON as in
// tokenizer.json; an empty string means no component. Every class has a BPE model
// without ignore_merges.
// Source: transformers 5.23.0, models/*/tokenization_*.py.
type rebuiltClass struct {
	normalizer string
	// preTokenizer depends on add_prefix_space and legacy of tokenizer_config.json.
	preTokenizer func(prefix, legacy bool) string
	noPrefix     bool // add_prefix_space is false by default
	// bytes sets byte_fallback and fuse_unk of the model. unk sets its unk_token.
	bytes, unk bool
	// post selects the special tokens around a text.
	post rebuiltPost
	// named holds the default special tokens of the class, by their names in
	// tokenizer_config.json; extra holds further ones.
	named []namedToken
	extra []string
}

// A namedToken is a special token with a role such as "bos_token". An empty content
// means that there is no such token.
type namedToken struct{ role, content string }

// A rebuiltPost selects the special tokens that a class puts around a text.
type rebuiltPost uint8

const (
	postOfFile rebuiltPost = iota // the post-processor of tokenizer.json
	postNone
	postBOS // bos_token before the text
)

const (
	nfc = `{"type":"NFC"}`

	// Regular expressions with which Qwen's tokenizers split text into words.
	qwen2Words   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen3_5Words = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// rebuiltClasses holds the classes of language models that transformers 5 builds by
// their own rules.
var rebuiltClasses = map[string]rebuiltClass{
	"LlamaTokenizer": {
		preTokenizer: func(prefix, legacy bool) string {
			switch {
			case !prefix:
				return unsplitMetaspace("never")
			case legacy:
				return unsplitMetaspace("always")
			}
			return unsplitMetaspace("first")
		},
		bytes: true,
		named: []namedToken{{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
	},
	"CodeLlamaTokenizer": {
		preTokenizer: func(prefix, _ bool) string {
			if prefix {
				return unsplitMetaspace("first")
			}
			return unsplitMetaspace("never")
		},
		bytes: true, unk: true, post: postBOS,
		named: []namedToken{{"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}},
		extra: []string{"▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>"},
	},
	"GemmaTokenizer": {
		normalizer: `{"type":"Replace","pattern":{"String":" "},"content":"▁"}`,
		preTokenizer: func(bool, bool) string {
			return `{"type":"Split","pattern":{"String":" "},"behavior":"MergedWithPrevious","invert":false}`
		},
		bytes: true, unk: true,
		named: []namedToken{{"bos_token", "<bos>"}, {"eos_token", "<eos>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}, {"mask_token", "<mask>"}},
	},
	"GPT2Tokenizer":    {preTokenizer: byteLevelWords, noPrefix: true, named: endOfText("")},
	"CodeGenTokenizer": {preTokenizer: byteLevelWords, noPrefix: true, post: postNone, named: endOfText("")},
	"GPTNeoXTokenizer": {
		normalizer: nfc, preTokenizer: byteLevelWords, noPrefix: true, post: postNone,
		named: endOfText("<|padding|>"),
	},
	"CohereTokenizer": {
		normalizer: nfc,
		preTokenizer: func(prefix, _ bool) string {
			return `{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},` + byteLevelWords(prefix, false) + `]}`
		},
		noPrefix: true,
		named: []namedToken{
			{"bos_token", "<BOS_TOKEN>"},
			{"eos_token", "<|END_OF_TURN_TOKEN|>"},
			{"unk_token", "<UNK>"},
			{"sep_token", "<SEP>"},
			{"pad_token", "<PAD>"},
			{"cls_token", "<CLS>"},
			{"mask_token", "<MASK_TOKEN>"},
		},
	},
	"Qwen2Tokenizer":   qwenClass(qwen2Words),
	"Qwen3_5Tokenizer": qwenClass(qwen3_5Words),
}

// otherRebuiltClasses lists the classes of transformers 5 with rules of their own that
// this package does not implement.
var otherRebuiltClasses = strings.Fields(`Albert Bart Barthez Bert BigBird Blenderbot Camembert CLIP Deberta DebertaV2
	Esmc Funnel Herbert Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke MarkupLM MBart MBart50 MLuke MPNet Nllb Nougat OpenAIGPT
	Parakeet Pegasus Reformer RemBert Roberta SeamlessM4T Siglip2 Splinter T5 Tipsv2 Udop VideoPrism Whisper XGLM XLMRoberta XLNet`)

func unsplitMetaspace(scheme string) string {
	return `{"type":"Metaspace","replacement":"▁","prepend_scheme":"` + scheme + `","split":false}`
}

func byteLevelWords(prefix, _ bool) string {
	return `{"type":"ByteLevel","add_prefix_space":` + strconv.FormatBool(prefix) + `,"trim_offsets":true,"use_regex":true}`
}

func endOfText(pad string) []namedToken {
	const end = "<|endoftext|>"
	return []namedToken{{"bos_token", end}, {"eos_token", end}, {"unk_token", end}, {"pad_token", pad}}
}

func qwenClass(words string) rebuiltClass {
	return rebuiltClass{
		normalizer: nfc,
		preTokenizer: func(prefix, _ bool) string {
			return `{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":` + jsonString(words) + `},"behavior":"Isolated","invert":false},` +
				`{"type":"ByteLevel","add_prefix_space":` + strconv.FormatBool(prefix) + `,"trim_offsets":true,"use_regex":false}]}`
		},
		noPrefix: true,
		named:    []namedToken{{"bos_token", ""}, {"eos_token", "<|endoftext|>"}, {"unk_token", "<|endoftext|>"}, {"pad_token", "<|endoftext|>"}},
	}
}

// jsonString returns s as a JSON string.
func jsonString(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("text of this package is not UTF-8: " + s)
	}
	return string(b)
}

// A rebuilding replaces the components of a tokenizer.json by the components of a class.
type rebuilding struct {
	name   string // name of the class
	class  rebuiltClass
	config *node // tokenizer_config.json; nil if absent
}

// rebuildingOf returns how transformers 5 rebuilds a tokenizer.json, nil if it uses the
// file unchanged. config and model are tokenizer_config.json and config.json, nil if
// absent.
func rebuildingOf(d *document, config, model *node) (*rebuilding, error) {
	name, err := tokenizerClass(d.data, config, model)
	if err != nil {
		return nil, err
	}
	if class, ok := rebuiltClasses[name]; ok {
		return &rebuilding{name: name, class: class, config: config}, nil
	}
	if slices.Contains(otherRebuiltClasses, strings.TrimSuffix(name, "Tokenizer")) {
		d.note("transformers 5 reads this file as a %s, whose rules pa-analyze does not know; it is read as transformers 4 reads it", name)
	}
	return nil, nil
}

// components replaces the components in parts and m.
func (r *rebuilding) components(d *document, parts map[string]*node, m *modelFile) error {
	if name, err := m.typeName(); err != nil {
		return err
	} else if name != "BPE" {
		return m.errorf("transformers 5 reads a %s as a BPE model, and this is a %s model", r.name, name)
	}
	prefix, err := r.config.boolOr("add_prefix_space", !r.class.noPrefix)
	if err != nil {
		return err
	}
	legacy, err := r.config.boolOr("legacy", false)
	if err != nil {
		return err
	}
	for part, text := range map[string]string{
		"normalizer": r.class.normalizer, "pre_tokenizer": r.class.preTokenizer(prefix, legacy),
	} {
		delete(parts, part)
		if text != "" {
			if parts[part], err = d.component(part, text); err != nil {
				return err
			}
		}
	}
	options := fmt.Sprintf(`{"dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":%t,"byte_fallback":%t,"ignore_merges":false}`, r.class.bytes, r.class.bytes)
	set, err := d.component("model", options)
	if err != nil {
		return err
	}
	if unk := r.token("unk_token"); r.class.unk && unk != "" {
		if set.values[1], err = d.component("model.unk_token", jsonString(unk)); err != nil {
			return err
		}
	}
	m.names, m.values = append(m.names, set.names...), append(m.values, set.values...) // the last one counts
	return nil
}

// component parses the JSON text of a component that is not in the document.
func (d *document) component(field, text string) (*node, error) {
	own := &document{file: d.file, data: []byte(text), failed: d.failed}
	return own.readNode(jsontext.NewDecoder(bytes.NewReader(own.data)), field)
}

// token returns the content of the special token with a role, "" if there is none.
func (r *rebuilding) token(role string) string {
	if content, ok := configToken(r.config, role); ok {
		return content
	}
	for _, t := range r.class.named {
		if t.role == role {
			return t.content
		}
	}
	return ""
}

// configToken returns the special token for a role in tokenizer_config.json; ok is
// false if the file does not mention the role.
func configToken(config *node, role string) (content string, ok bool) {
	if config == nil || !slices.Contains(config.names, role) {
		return "", false
	}
	n := config.member(role)
	switch {
	case n == nil:
		return "", true
	case n.kind == '{':
		n = n.member("content")
	}
	if n == nil || n.kind != '"' {
		return "", true
	}
	return n.text, true
}

// standardRoles lists the roles of every class, in the order in which their tokens are
// added.
var standardRoles = []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}

// addedTokens returns the added tokens in the order of their ids. First come the tokens of
// tokenizer_config.json (or of tokenizer.json if it has none) by id, then the special
// tokens that are not among them.
func (r *rebuilding) addedTokens(list *node) ([]addedToken, error) {
	tokens, err := r.listedTokens(list)
	if err != nil {
		return nil, err
	}
	roles := slices.Clone(standardRoles)
	if r.config != nil {
		for i, name := range r.config.names {
			if v := r.config.values[i]; strings.HasSuffix(name, "_token") && !slices.Contains(roles, name) && (v.kind == '"' || v.kind == '{') {
				roles = append(roles, name)
			}
		}
	}
	add := func(content string) {
		if content != "" && !slices.ContainsFunc(tokens, func(t addedToken) bool { return t.content == content }) {
			tokens = append(tokens, addedToken{content: content, id: unknownID})
		}
	}
	for _, role := range roles {
		add(r.token(role))
	}
	for _, content := range r.extraTokens() {
		add(content)
	}
	return tokens, nil
}

// unknownID marks an added token without an id in any file.
const unknownID = ^uint32(0)

// listedTokens returns the added tokens that the files list with their ids.
func (r *rebuilding) listedTokens(list *node) ([]addedToken, error) {
	var tokens []addedToken
	var err error
	if decoder := r.config.member("added_tokens_decoder"); decoder != nil {
		tokens, err = readTokenMap(decoder)
	} else {
		tokens, err = readTokenList(list)
	}
	slices.SortStableFunc(tokens, func(a, b addedToken) int { return int(a.id) - int(b.id) })
	return tokens, err
}

// extraTokens returns the special tokens without a role.
func (r *rebuilding) extraTokens() []string {
	extra := r.config.member("extra_special_tokens")
	if extra == nil || len(extra.values) == 0 {
		if more := r.config.member("additional_special_tokens"); more != nil {
			extra = more
		}
	}
	var contents []string
	if extra != nil { // an array of tokens, or an object that gives them roles
		for _, v := range extra.values {
			if v.kind == '{' {
				v = v.member("content")
			}
			if v != nil && v.kind == '"' {
				contents = append(contents, v.text)
			}
		}
	}
	return append(contents, r.class.extra...)
}

// template returns the special tokens that surround a text.
func (r *rebuilding) template(ofFile template, t *Tokenizer) template {
	switch r.class.post {
	case postNone:
		return nil
	case postBOS:
		if id, ok := t.ID(r.token("bos_token")); ok {
			return template{{ids: []uint32{id}}, {sequence: true}}
		}
		return nil
	}
	return ofFile
}

// tokenizerClass returns the class that AutoTokenizer of transformers 5 selects for a
// model, without the suffix "Fast"; "" if it uses tokenizer.json unchanged.
// tokenizer_config.json names the class, except for model types that are known to name a
// wrong one. data is tokenizer.json.
// Source: transformers 5.23.0, models/auto/tokenization_auto.py.
func tokenizerClass(data []byte, config, model *node) (string, error) {
	class, err := config.stringOr("tokenizer_class", "")
	if err != nil {
		return "", err
	}
	kind, err := model.stringOr("model_type", "")
	if err != nil {
		return "", err
	}
	if class == "" {
		if class, err = model.stringOr("tokenizer_class", ""); err != nil {
			return "", err
		}
	}
	class = strings.TrimSuffix(class, "Fast")
	switch {
	case config.member("auto_map") != nil:
		return class, nil // the model's own code is not run
	case slices.Contains(asWrittenModels, kind):
		return "", nil
	case class == "":
		return classOfModel[kind], nil
	case mistakenModels[kind] != "":
		return mistakenModels[kind], nil
	case class == "LlamaTokenizer" && bytes.Contains(data, []byte(`"ByteLevel"`)):
		return "", nil // LLaMA 3 and others name this class wrongly
	}
	return class, nil
}

// asWrittenModels lists the model types whose tokenizer.json is used unchanged with any
// class. This package does not read Mistral's format, tekken.json.
var asWrittenModels = strings.Fields(`EvollaModel aria beam bigbird_pegasus canary flex_olmo glm glm4 glm4_moe glm4_moe_lite
	glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid
	granitemoeshared kimi_k25 kimi_linear kosmos-2 mimo_v2_flash minicpm_ocr minicpmv4_6 minicpmv4_7 ministral ministral3
	mistral mistral3 mistral_large4 mixtral nemo_speechlm nystromformer olmo2 olmo3 olmo_hybrid pegasus_x persimmon
	pix2struct pixtral pocket_tts stablelm umt5 voxtral voxtral_realtime xlm-roberta-xl phimoe openvla hyperclovax_vlm
	nemotron llava_next modernbert-decoder phi3_v cohere_asr phi3 molmo2 ernie4_5_moe fuyu ernie4_5 camembertv2-base smolvlm
	paddleocr_vl vipllava hyperclovax minicpm3 chatlm jamba arctic llava nvfp4 minimax_m2 opencua minicpmv internlm2
	internlm3 h2ovl_chat modernbert molmo iquestcoder step3_vl`)

// mistakenModels maps the model types that name a wrong class to the right class.
var mistakenModels = map[string]string{
	"qwen2": "Qwen2Tokenizer", "hyperclovax_vision_v2": "GPT2Tokenizer", "qwen3_5": "Qwen3_5Tokenizer", "qwen3_5_moe": "Qwen3_5Tokenizer",
	"qwen3_5_moe_text": "Qwen3_5Tokenizer", "qwen4_exp": "Qwen3_5Tokenizer",
}

// classOfModel maps model types to their class, for models that name no class.
var classOfModel = classesOfModels(map[string]string{
	"LlamaTokenizer":     "idefics idefics2",
	"CodeLlamaTokenizer": "code_llama",
	"GemmaTokenizer":     "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 t5gemma zaya",
	"GPT2Tokenizer":      "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip instructblipvideo jais2 opt phi starcoder2",
	"GPTNeoXTokenizer":   "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
	"Qwen2Tokenizer": `audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl lighton_ocr moss_transcribe_diarize
		ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next
		qwen3_omni_moe qwen3_vl qwen3_vl_moe vibevoice`,
	"Qwen3_5Tokenizer": "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
	"CohereTokenizer":  "aya_vision cohere cohere2",
})

func classesOfModels(models map[string]string) map[string]string {
	classes := map[string]string{}
	for class, kinds := range models {
		for _, kind := range strings.Fields(kinds) {
			classes[kind] = class
		}
	}
	return classes
}
