package answer

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/export"
)

// A TokenSource is the source of a number of output tokens.
type TokenSource uint8

// In a Config, TokenAuto means the best source of each request: usage, else the number
// that the file of another tool states, else the token ids of the answer, else the tokenizer, else token events. In a
// result, TokenAuto means that there is no number. TokenMixed occurs only in results,
// if the requests of one experiment have different sources.
const (
	TokenAuto      TokenSource = 0
	TokenUsage     TokenSource = 1
	TokenTokenizer TokenSource = 2
	TokenResponses TokenSource = 3
	TokenMixed     TokenSource = 4
	TokenStated    TokenSource = 5
	TokenIDs       TokenSource = 6
)

var tokenSourceNames = [...]string{"none", "usage", "tokenizer", "responses", "mixed", "stated", "ids"}

// String returns "none", "usage", "tokenizer", "responses", "mixed", "stated" or "ids".
func (s TokenSource) String() string {
	if int(s) < len(tokenSourceNames) {
		return tokenSourceNames[s]
	}
	return fmt.Sprintf("invalid(%d)", s)
}

// ParseTokenSource returns the source with a name that users can choose: "usage",
// "tokenizer" or "responses".
func ParseTokenSource(s string) (TokenSource, error) {
	switch s {
	case "usage":
		return TokenUsage, nil
	case "tokenizer":
		return TokenTokenizer, nil
	case "responses":
		return TokenResponses, nil
	}
	return 0, fmt.Errorf("%q: expected usage, tokenizer or responses", s)
}

// A TokenCounter counts the tokens of a text as the model's tokenizer does. An error
// concerns only this text: its request then has no number of output tokens. Several
// goroutines may use it at once.
type TokenCounter interface {
	CountTokens(text []byte) (int, error)
}

// Text returns the text of an answer with one choice, reasoning and tool calls included, as the file states it or as a Decoder
// that keeps texts has decoded it; nil if it is not known.
func (a *Answer) Text(st *export.Stated) []byte {
	switch {
	case st != nil && st.Text != nil:
		return []byte(*st.Text)
	case a.Dropped || a.Assumed || len(a.choices) != 1:
		return nil
	}
	return a.choices[0].text
}

// count returns the number of output tokens and its source. The error comes from the
// tokenizer.
func (a *Answer) count(want TokenSource, tc TokenCounter, st *export.Stated) (export.Int, TokenSource, error) {
	if a.Dropped {
		return export.Int{}, TokenAuto, nil
	}
	if (want == TokenAuto || want == TokenUsage) && a.Usage.Output.OK {
		return a.Usage.Output, TokenUsage, nil
	}
	if want == TokenAuto && st != nil && st.OutputTokens != nil {
		return export.IntOf(*st.OutputTokens), TokenStated, nil
	}
	if want == TokenAuto && a.ids.OK {
		return a.ids, TokenIDs, nil
	}
	if (want == TokenAuto || want == TokenTokenizer) && tc != nil && a.counted.OK {
		return a.counted, TokenTokenizer, nil
	}
	if (want == TokenAuto || want == TokenTokenizer) && tc != nil && st != nil && st.Text != nil {
		n, err := tc.CountTokens([]byte(*st.Text))
		if err != nil {
			return export.Int{}, TokenAuto, err
		}
		return export.IntOf(int64(n)), TokenTokenizer, nil
	}
	if (want == TokenAuto || want == TokenTokenizer) && tc != nil && !a.Assumed && st == nil && a.stored == nil {
		n := 0
		for i := range a.choices {
			k, err := tc.CountTokens(a.choices[i].text)
			if err != nil {
				return export.Int{}, TokenAuto, err
			}
			n += k
		}
		return export.IntOf(int64(n)), TokenTokenizer, nil
	}
	if want == TokenAuto || want == TokenResponses {
		return export.IntOf(int64(a.numEvents())), TokenResponses, nil
	}
	return export.Int{}, TokenAuto, nil
}
