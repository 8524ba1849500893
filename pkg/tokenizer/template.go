package tokenizer

// A template is a post-processor: the special tokens around the ids of a text. A nil
// template adds none.
type template []templatePart

type templatePart struct {
	ids      []uint32
	sequence bool // the position of the text
}

func (t template) apply(ids []uint32) []uint32 {
	if t == nil {
		return ids
	}
	var out []uint32
	for _, part := range t {
		if part.sequence {
			out = append(out, ids...)
		} else {
			out = append(out, part.ids...)
		}
	}
	return out
}

// readTemplate builds the template of a post-processor.
func readTemplate(n *node) (template, error) {
	if n.isNull() {
		return nil, nil
	}
	name, err := n.typeName()
	if err != nil {
		return nil, err
	}
	switch name {
	case "ByteLevel": // changes offsets only
		return nil, nil
	case "BertProcessing", "RobertaProcessing":
		cls, err := readSpecial(n, "cls")
		if err != nil {
			return nil, err
		}
		sep, err := readSpecial(n, "sep")
		return template{{ids: []uint32{cls}}, {sequence: true}, {ids: []uint32{sep}}}, err
	case "TemplateProcessing":
		return readTemplateProcessing(n)
	case "Sequence":
		return readTemplateSequence(n)
	}
	return nil, n.errorf("post-processor %s is not supported", quote(name))
}

// readSpecial reads ["token", id].
func readSpecial(n *node, name string) (uint32, error) {
	m, err := n.want(name)
	if err != nil {
		return 0, err
	}
	values, err := m.array()
	if err != nil {
		return 0, err
	}
	if len(values) != 2 {
		return 0, m.errorf("expected [token, id], found an array of length %d", len(values))
	}
	return values[1].uint32()
}

func readTemplateProcessing(n *node) (template, error) {
	parts, err := n.wantArray("single")
	if err != nil {
		return nil, err
	}
	special := n.member("special_tokens")
	t := template{}
	for _, p := range parts {
		if err := p.object(); err != nil {
			return nil, err
		}
		if s := p.member("Sequence"); s != nil {
			id, err := s.wantString("id")
			if err != nil {
				return nil, err
			}
			if id != "A" {
				return nil, s.errorf("sequence %s in the template of a single text", quote(id))
			}
			t = append(t, templatePart{sequence: true})
			continue
		}
		s, err := p.want("SpecialToken")
		if err != nil {
			return nil, err
		}
		id, err := s.wantString("id")
		if err != nil {
			return nil, err
		}
		described := special.member(id)
		if described == nil {
			return nil, s.errorf("special token %s is not among special_tokens", quote(id))
		}
		values, err := described.wantArray("ids")
		if err != nil {
			return nil, err
		}
		var part templatePart
		for _, v := range values {
			id, err := v.uint32()
			if err != nil {
				return nil, err
			}
			part.ids = append(part.ids, id)
		}
		t = append(t, part)
	}
	return t, nil
}

// readTemplateSequence reads a Sequence. At most one of its members may add tokens.
func readTemplateSequence(n *node) (template, error) {
	values, err := n.wantArray("processors")
	if err != nil {
		return nil, err
	}
	var all template
	for _, v := range values {
		t, err := readTemplate(v)
		if err != nil {
			return nil, err
		}
		if t == nil {
			continue
		}
		if all != nil {
			return nil, v.errorf("a second post-processor that adds tokens is not supported")
		}
		all = t
	}
	return all, nil
}
