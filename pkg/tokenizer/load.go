package tokenizer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pa-tools/pa/internal/disk"
	"github.com/pa-tools/pa/internal/plural"
)

// maxFileBytes bounds a tokenizer file. The largest ones in use have about 35 MB.
const maxFileBytes = 256 << 20

// Load reads a tokenizer with the reading Transformers4; see LoadAs.
func Load(path string) (*Tokenizer, error) { return LoadAs(path, Transformers4) }

// LoadAs reads a tokenizer from a tokenizer.json file, a .tiktoken file, a tiktoken.model (Kimi,
// Llama 3), a tekken.json (Mistral), or a directory with such a file. A tokenizer_config.json beside
// tokenizer.json may add tokens; beside tiktoken.model it names the special tokens.
// With Transformers5, it also names the class of the tokenizer, and a config.json beside
// it names the type of the model.
//
// Errors in the content are *FormatError.
func LoadAs(path string, reading Reading) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, disk.Unreadable(err)
	}
	if info.IsDir() {
		if path, err = fileIn(path); err != nil {
			return nil, err
		}
	}
	data, err := disk.ReadFile(context.Background(), path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".tiktoken") {
		return parseTiktoken(path, data)
	}
	f := files{name: path, data: data, reading: reading}
	if isTekken(path) {
		return parseTekken(path, data)
	}
	if f.configName, f.config, err = readBeside(path, "tokenizer_config.json"); err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".model") {
		return parseTiktokenModel(path, data, f.configName, f.config)
	}
	if reading == Transformers5 {
		if f.modelName, f.model, err = readBeside(path, "config.json"); err != nil {
			return nil, err
		}
	}
	t, err := f.parse()
	if err != nil {
		return asTekken(path, data, err)
	}
	return t, nil
}

// FilesAt returns the files that LoadAs may read for path, which is a file or a directory, as
// far as they exist.
func FilesAt(path string) []string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file, err := fileIn(path)
		if err != nil {
			return nil
		}
		path = file
	}
	all := []string{path}
	for _, name := range []string{"tokenizer_config.json", "config.json"} {
		all = append(all, filepath.Join(filepath.Dir(path), name))
	}
	return slices.DeleteFunc(all, func(p string) bool { _, err := os.Stat(p); return err != nil })
}

// readBeside reads a file in the folder of path. data is nil if the file does not exist.
func readBeside(path, name string) (at string, data []byte, err error) {
	at = filepath.Join(filepath.Dir(path), name)
	data, err = disk.ReadFile(context.Background(), at, maxFileBytes)
	if errors.Is(err, os.ErrNotExist) {
		return at, nil, nil
	}
	return at, data, err
}

// fileIn finds the tokenizer's file in a directory.
func fileIn(dir string) (string, error) {
	for _, name := range []string{"tokenizer.json", "tekken.json", "tiktoken.model"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tiktoken"))
	if err != nil {
		return "", err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s: there is no tokenizer.json and no .tiktoken file, tiktoken.model or tekken.json; convert a tokenizer of another format to tokenizer.json with its own tools", dir)
	}
	return "", fmt.Errorf("%s: there are %d .tiktoken files; name one of them", dir, len(found))
}

// Parse reads a tokenizer.json. name is its name for messages and for Tokenizer.Name.
func Parse(name string, data []byte) (*Tokenizer, error) {
	return (&files{name: name, data: data}).parse()
}

// files holds the files of a model that define its tokenizer.
type files struct {
	reading               Reading
	name                  string
	data                  []byte // tokenizer.json
	configName, modelName string
	config, model         []byte // tokenizer_config.json and config.json; nil if absent
}

func (f *files) parse() (*Tokenizer, error) {
	doc := &document{file: f.name, data: f.data, failed: &failure{}}
	parts, m, err := doc.readParts()
	if err != nil {
		return nil, err
	}
	config, err := readObject(f.configName, f.config)
	if err != nil {
		return nil, err
	}
	rebuild, err := f.rebuilding(doc, config)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{name: f.name, failed: doc.failed}
	if rebuild != nil {
		t.class = rebuild.name
		if err := rebuild.components(doc, parts, m); err != nil {
			return nil, err
		}
	}
	if t.normalizer, err = readNormalizer(parts["normalizer"]); err != nil {
		return nil, err
	}
	if t.preTokenizer, err = readPreTokenizer(parts["pre_tokenizer"]); err != nil {
		return nil, err
	}
	if n := lengthening(t.preTokenizer); n > maxLengthening {
		return nil, parts["pre_tokenizer"].errorf("%d pre-tokenizers that make text longer (ByteLevel, Metaspace); at most %d are supported", n, maxLengthening)
	}
	bytes := lastByteLevel(t.preTokenizer)
	if t.model, err = readModel(m, bytes != nil); err != nil {
		return nil, err
	}
	if rebuild != nil {
		if t.added, err = readRebuiltTokens(rebuild, parts["added_tokens"], t.model, t.normalizer); err != nil {
			return nil, err
		}
	} else if t.added, err = readAddedTokens(parts["added_tokens"], t.model, t.normalizer); err != nil {
		return nil, err
	}
	if b, ok := t.model.(*bpe); ok && b.raw {
		bytes.raw = true
	} else if ok && b.mark != 0 {
		if blanks, ok := asBlankNormalizer(t.normalizer, t.preTokenizer); ok {
			b.useBlanks()
			t.normalizer, t.preTokenizer = blanks, nil
			t.added.useBlanks()
		}
	}
	t.preTokenizer = simplify(t.preTokenizer)
	t.needsStart = needsStart(t.preTokenizer)
	if t.post, err = readTemplate(parts["post_processor"]); err != nil {
		return nil, err
	}
	if parts["truncation"] != nil {
		doc.note("truncation: not applied, texts are counted whole")
	}
	t.notes = doc.notes
	if rebuild != nil {
		t.post = rebuild.template(t.post, t)
	} else if config != nil {
		if err := t.readConfig(f.configName, config); err != nil {
			return nil, err
		}
	}
	t.finish(f.data)
	return t, nil
}

// rebuilding returns the replacement of components that the reading requires; nil if it
// uses the components unchanged.
func (f *files) rebuilding(doc *document, config *node) (*rebuilding, error) {
	if f.reading != Transformers5 {
		return nil, nil
	}
	model, err := readObject(f.modelName, f.model)
	if err != nil {
		return nil, err
	}
	return rebuildingOf(doc, config, model)
}

// readObject reads a JSON file that holds an object. It returns nil if data is nil.
func readObject(name string, data []byte) (*node, error) {
	if data == nil {
		return nil, nil
	}
	doc := &document{file: name, data: data, failed: &failure{}}
	top, err := doc.readNode(doc.decoder(), "")
	if err != nil {
		return nil, err
	}
	return top, top.object()
}

// note adds a remark to the tokenizer of the document.
func (d *document) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// readParts reads the top level of a tokenizer.json, without members that are null.
func (d *document) readParts() (map[string]*node, *modelFile, error) {
	dec := d.decoder()
	if kind := dec.PeekKind(); kind != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return nil, nil, d.syntaxError(err, "")
		}
		return nil, nil, d.errorAt(0, "", "expected the object of a tokenizer.json, found %s", kindName(kind))
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, d.syntaxError(err, "")
	}
	parts := map[string]*node{}
	var m *modelFile
	for dec.PeekKind() != '}' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, nil, d.syntaxError(err, "")
		}
		name := token.String()
		if name == "model" {
			if m, err = d.readModelFile(dec); err != nil {
				return nil, nil, err
			}
			continue
		}
		part, err := d.readNode(dec, name)
		if err != nil {
			return nil, nil, err
		}
		if !part.isNull() {
			parts[name] = part
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, d.syntaxError(err, "")
	}
	if m == nil {
		return nil, nil, d.errorAt(0, "", `"model" is missing`)
	}
	if v := parts["version"]; v != nil && v.text != "1.0" {
		return nil, nil, v.errorf("expected version 1.0, found %s", quote(v.text))
	}
	return parts, m, nil
}

// lastByteLevel returns the ByteLevel at the end of a pre-tokenizer, nil if it ends
// otherwise.
func lastByteLevel(p preTokenizer) *byteLevel {
	switch p := p.(type) {
	case *byteLevel:
		return p
	case preTokenizerSequence:
		if len(p) > 0 {
			return lastByteLevel(p[len(p)-1])
		}
	}
	return nil
}

// simplify removes steps without effect: a ByteLevel that neither cuts nor writes bytes
// as characters.
func simplify(p preTokenizer) preTokenizer {
	switch p := p.(type) {
	case *byteLevel:
		if p.raw && !p.prefix {
			return p.words // may be nil
		}
	case preTokenizerSequence:
		var kept preTokenizerSequence
		for _, one := range p {
			if one = simplify(one); one != nil {
				kept = append(kept, one)
			}
		}
		if len(kept) == 1 {
			return kept[0]
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	}
	return p
}

// needsStart reports whether p needs to know which piece starts the text.
func needsStart(p preTokenizer) bool {
	switch p := p.(type) {
	case *metaspace:
		return p.scheme == prependFirst
	case preTokenizerSequence:
		return slices.ContainsFunc(p, needsStart)
	}
	return false
}

// readConfig adds the tokens of a tokenizer_config.json that tokenizer.json lacks.
func (t *Tokenizer) readConfig(name string, config *node) error {
	list := config.member("added_tokens_decoder")
	if list == nil {
		return nil
	}
	missing, err := readTokenMap(list)
	if err != nil {
		return err
	}
	missing = slices.DeleteFunc(missing, func(token addedToken) bool {
		_, known := t.added.ids[token.content]
		return known
	})
	if len(missing) == 0 {
		return nil
	}
	slices.SortFunc(missing, func(a, b addedToken) int { return int(a.id) - int(b.id) })
	t.notes = append(t.notes, fmt.Sprintf("%s: %s that tokenizer.json does not have, such as %s", name, plural.Of(len(missing), "added token"), quote(missing[0].content)))
	err = t.added.addAll(missing, t.model, t.normalizer, func(i int, id uint32) {
		t.notes = append(t.notes, fmt.Sprintf("%s: token %s has id %d in the file, but its place gives it %d", name, quote(missing[i].content), missing[i].id, id))
	})
	if err != nil {
		return list.errorf("%w", err)
	}
	return nil
}

// A Reading is a set of rules that turn the files of a model into a tokenizer.
// Releases of the transformers library read the same files differently.
type Reading uint8

const (
	// Transformers4 follows tokenizer.json alone, as the tokenizers library and
	// transformers before release 5 do.
	Transformers4 Reading = iota
	// Transformers5 follows transformers 5. The class that tokenizer_config.json
	// names, such as LlamaTokenizer, may use only vocabulary, merges, special
	// tokens and post-processor of tokenizer.json, and bring its own normalizer,
	// and pre-tokenizer. Tests compare it with release 5.23.0.
	Transformers5
)

// readingNames are the names of the readings, by their numbers.
var readingNames = [...]string{Transformers4: "transformers-4", Transformers5: "transformers-5"}

// String returns "transformers-4" or "transformers-5".
func (r Reading) String() string {
	if int(r) < len(readingNames) {
		return readingNames[r]
	}
	return "Reading(" + strconv.Itoa(int(r)) + ")"
}

// ParseReading returns the reading whose String is name.
func ParseReading(name string) (Reading, error) {
	for i, known := range readingNames {
		if name == known {
			return Reading(i), nil
		}
	}
	return 0, fmt.Errorf("%q is neither %s nor %s", name, readingNames[Transformers4], readingNames[Transformers5])
}
