package openai

import (
	"regexp"
	"slices"
	"strings"
)

// unsupported matches the refusal of a member, and replaced the advice to use another one.
var (
	unsupported = regexp.MustCompile(`(?i)unsupported|not supported|unknown|unrecognized|unexpected|extra (inputs|fields)|not permitted`)
	replaced    = regexp.MustCompile(`(?i)\b(use|instead|deprecated)\b`)
)

// lengthMembers are the members that servers take for the length of an answer, the most usual first.
var lengthMembers = []string{"max_completion_tokens", "max_tokens", "max_output_tokens", "max_new_tokens"}

// OtherLengthMember returns the member that a server may want for the length of an answer instead of
// sent, by the message with which it refused a request; "" if the message is about something else,
// such as a length beyond the model's.
func OtherLengthMember(refusal, sent string) string {
	words := strings.FieldsFunc(refusal, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	refused := unsupported.MatchString(refusal)
	if !slices.Contains(words, sent) || !refused && !replaced.MatchString(refusal) {
		return ""
	}
	usual := ""
	for _, name := range lengthMembers {
		switch {
		case name == sent:
		case slices.Contains(words, name):
			return name
		case usual == "" && refused:
			usual = name
		}
	}
	return usual
}
