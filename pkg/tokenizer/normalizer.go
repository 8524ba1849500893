package tokenizer

// A normalizer rewrites text before it is cut. Text and result are valid UTF-8; an
// unchanged text is returned itself. A result of more than most bytes may be incomplete,
// and the caller refuses it. A normalizer is safe for concurrent use.
type normalizer interface {
	normalize(s string, most int) string
}

// A firstDropper is a normalizer that may remove the first character of a text. Metaspace
// with prepend_scheme "first" needs to know: the character that is then first did not
// start the text.
type firstDropper interface {
	dropsFirst(s string) bool
}

// readNormalizer builds the normalizer of a description. It returns nil for null.
func readNormalizer(n *node) (normalizer, error) {
	if n.isNull() {
		return nil, nil
	}
	name, err := n.typeName()
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		all, err := readSequence(n, "normalizers", "normalizer", readNormalizer)
		return normalizerSequence(all), err
	case "NFC", "NFD", "NFKC", "NFKD":
		return unicodeForms[name], nil
	case "Lowercase":
		return newLowercase(), nil
	case "Strip":
		return readStrip(n)
	case "StripAccents":
		return newStripAccents(), nil
	case "Prepend":
		return readPrepend(n)
	case "Replace":
		return readReplace(n)
	case "BertNormalizer":
		return readBertNormalizer(n)
	case "Nmt":
		return nmt{}, nil
	case "Precompiled":
		return readPrecompiled(n)
	case "ByteLevel":
		return byteLevelNormalizer{}, nil
	}
	return nil, n.errorf("normalizer %s is not supported", quote(name))
}

// A normalizerSequence applies its normalizers in order.
type normalizerSequence []normalizer

func (all normalizerSequence) normalize(s string, most int) string {
	for _, n := range all {
		if s = n.normalize(s, most); len(s) > most {
			break
		}
	}
	return s
}

func (all normalizerSequence) dropsFirst(s string) bool {
	most := longest(len(s))
	for _, n := range all {
		if dropsFirst(n, s) {
			return true
		}
		if s = n.normalize(s, most); len(s) > most {
			break
		}
	}
	return false
}

func dropsFirst(n normalizer, s string) bool {
	d, ok := n.(firstDropper)
	return ok && d.dropsFirst(s)
}
