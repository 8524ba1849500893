package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// filled returns the request for p by Options.Template, as compact JSON with the extra
// members of p.
func filled(p *workload.Prompt, o *Options) ([]byte, error) {
	v := &placeholderValues{p: p, o: o}
	body, err := o.Template.Append(nil, v.value)
	if err = errors.Join(v.err, err); err != nil {
		return nil, err
	}
	if len(p.Extra) == 0 {
		return body, nil
	}
	return openai.MergeRequest(body, fields(p.Extra))
}

// filledTensors is filled for a model whose inputs are the members of the template.
func filledTensors(p *workload.Prompt, o *Options) (export.Fields, error) {
	bare := *p
	bare.Extra = nil
	body, err := filled(&bare, o)
	if err != nil {
		return nil, err
	}
	var t tensors
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil { // the brace
		return nil, err
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		if k := value.Kind(); k != '[' && k != '{' {
			value = append(append(jsontext.Value{'['}, value...), ']')
		}
		t.f = append(t.f, export.Field{Name: key, Value: export.Value{Data: bytes.Clone(value)}})
	}
	t.rest(p, *o)
	return t.f, nil
}

// placeholderValues computes the placeholders of a template for a prompt.
type placeholderValues struct {
	p   *workload.Prompt
	o   *Options
	ids []uint32 // computed on first use
	err error    // first error of a value
}

// value returns the value of a placeholder. ok is false if the prompt has none.
func (v *placeholderValues) value(name string) ([]byte, bool) {
	if v.err != nil {
		return nil, false
	}
	js, ok, err := v.make(name)
	if err != nil {
		v.err = fmt.Errorf("{{%s}}: %w", name, err)
		return nil, false
	}
	return js, ok
}

func (v *placeholderValues) make(name string) (js []byte, ok bool, err error) {
	p := v.p
	switch name {
	case PlaceholderModel:
		return quote(v.o.Model), v.o.Model != "", nil
	case PlaceholderMaxTokens:
		return whole(p.MaxTokens), p.MaxTokens > 0, nil
	case PlaceholderPrompt:
		if err := noMedia(p, "texts"); err != nil {
			return nil, false, err
		}
		all, err := plainTexts(p)
		if err != nil {
			return nil, false, err
		}
		if len(all) != 1 {
			return nil, false, fmt.Errorf("%d texts in a prompt; {{texts}} takes several", len(all))
		}
		return quote(all[0]), true, nil
	case PlaceholderTexts:
		if err := noMedia(p, "texts"); err != nil {
			return nil, false, err
		}
		all, err := plainTexts(p)
		return quoteAll(all), true, err
	case PlaceholderMessages:
		if p.Messages != nil {
			return p.Messages, true, nil
		}
		js, err := messagesOf(p)
		return js, true, err
	case PlaceholderContent:
		js, err := contentOf(p)
		return js, true, err
	case PlaceholderInputs:
		all, err := inputsOf(p)
		return quoteAll(all), true, err
	case PlaceholderPictures:
		js, err := picturesOf(p)
		return js, true, err
	case PlaceholderMarkdown:
		text, err := markdownOf(p)
		return quote(text), true, err
	case PlaceholderQuery, PlaceholderPassages, PlaceholderDocuments:
		if err := ranks(p); err != nil {
			return nil, false, err
		}
		switch name {
		case PlaceholderQuery:
			return quote(p.Text), true, nil
		case PlaceholderPassages:
			return passagesOf(p), true, nil
		}
		return quoteAll(p.More), true, nil
	case PlaceholderInputIDs:
		if err := v.encode(); err != nil {
			return nil, false, err
		}
		js, err := json.Marshal(v.ids)
		return js, true, err
	case placeholderInputLength:
		if err := v.encode(); err != nil {
			return nil, false, err
		}
		return whole(len(v.ids)), true, nil
	}
	return nil, false, errors.New("there is no such placeholder")
}

// contentOf returns text, images and audio as parts of one chat message.
func contentOf(p *workload.Prompt) ([]byte, error) {
	if p.Messages != nil {
		return nil, errors.New("the data holds conversations; use {{messages}}")
	}
	out := []byte{'['}
	for _, text := range append([]string{p.System, p.Text}, p.More...) {
		if text != "" {
			out = appendPart(out, []byte(`{"type":"text","text":`), quote(text), []byte("}"))
		}
	}
	for _, m := range p.Media {
		js, err := mediaPart(m)
		if err != nil {
			return nil, err
		}
		out = appendPart(out, js)
	}
	return append(out, ']'), nil
}

// encode computes the token ids of the text.
func (v *placeholderValues) encode() (err error) {
	if v.ids == nil {
		v.ids, err = idsOf(v.p, v.o)
	}
	return err
}
