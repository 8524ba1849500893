package plan

import (
	"iter"
	"strings"
	"time"
)

// MaxContextTokens bounds the tokens of a request in every configuration, and with
// them the sum of its delays: 2^20 tokens × MaxDelay is 3.8e18 ns, below 2^63.
const MaxContextTokens = 1 << 20

// MaxDelay bounds every single delay.
const MaxDelay = time.Hour

// A Request holds a request's settings for the model, with all defaults set.
type Request struct {
	Index       uint64 // position in the order of arrival
	Key         uint64 // selects random texts and lengths: the request's seed, else its index
	InputTokens int
	// CachedTokens of the input tokens are in the prefix cache; −1 if there is none.
	CachedTokens int
	Echo         []string // for each choice, the text before its first token; nil for none

	Choices   int
	Length    Length // number of tokens at which a text ends by itself
	MaxTokens int    // 0 means not given
	MinTokens int
	IgnoreEOS bool
	Room      int // tokens that the context leaves for output, at least 1

	TTFT, ITL      Delay
	Prefill        time.Duration // per input token that is not cached
	Vocabulary     Vocabulary
	TokensPerEvent int
	Final          Final
	Fault          Fault
	FaultAfter     int
}

// A Plan lists the output of a request and its due times. It is a pure function of
// the server's seed and the request.
type Plan struct {
	Request
	seed    uint64
	lengths []int // tokens of each choice
}

// A Step is the output of one choice that is due at one time.
type Step struct {
	At     time.Duration // since the start of the request
	Choice int
	Tokens int // number of tokens in Text, at least 1
	Text   string
	Finish string // "stop" or "length" in the last step of a choice, else ""
}

// New plans the answer to r.
func New(seed uint64, r Request) *Plan {
	p := &Plan{Request: r, seed: seed, lengths: make([]int, r.Choices)}
	for c := range p.lengths {
		n := r.Length.sample(uniform(seed, Mix(r.Key)+uint64(c), drawLength, 0))
		if r.IgnoreEOS && r.MaxTokens > 0 {
			n = r.MaxTokens
		}
		n = max(n, r.MinTokens)
		if r.MaxTokens > 0 {
			n = min(n, r.MaxTokens)
		}
		p.lengths[c] = min(n, r.Room)
	}
	if r.Final == FinalAttached {
		// No fault can follow a last token that is final.
		p.FaultAfter = min(p.FaultAfter, p.OutputTokens()-1)
	}
	return p
}

// NewTextless plans an answer without tokens, which is due after the TTFT, such as an
// embedding. A fault strikes at once.
func NewTextless(seed uint64, r Request) *Plan {
	r.FaultAfter = 0
	return &Plan{Request: r, seed: seed}
}

// OutputTokens returns the number of tokens of all choices.
func (p *Plan) OutputTokens() int {
	n := 0
	for _, l := range p.lengths {
		n += l
	}
	return n
}

// FinishReason returns "length" if the choice has as many tokens as max_tokens or the
// context allows, even if it also ends there by itself. Otherwise it returns "stop".
func (p *Plan) FinishReason(choice int) string {
	if choice < len(p.lengths) {
		if n := p.lengths[choice]; n == p.MaxTokens || n == p.Room {
			return "length"
		}
	}
	return "stop"
}

// FirstTokenAt returns when the first token is due, since the start of the request.
func (p *Plan) FirstTokenAt() time.Duration {
	d := p.TTFT.sample(uniform(p.seed, p.Index, drawTTFT, 0))
	return d + time.Duration(p.InputTokens-max(p.CachedTokens, 0))*p.Prefill
}

// Steps returns the steps in the order of their due times. As in a batch, all choices
// advance together; steps due at the same time are in the order of the choices.
func (p *Plan) Steps() iter.Seq[Step] {
	return func(yield func(Step) bool) {
		longest := 0
		for _, l := range p.lengths {
			longest = max(longest, l)
		}
		pending := make([]Step, p.Choices)
		var at time.Duration
		for i := range longest {
			if i == 0 {
				at = p.FirstTokenAt()
			} else {
				at += p.ITL.sample(uniform(p.seed, p.Index, drawITL, i))
			}
			for c := range pending {
				if i >= p.lengths[c] {
					continue
				}
				s := &pending[c]
				s.Text += tokenText(p.Vocabulary, p.seed, p.Key, c, i)
				s.Tokens++
				last := i == p.lengths[c]-1
				if i > 0 && s.Tokens < p.TokensPerEvent && !last {
					continue
				}
				s.At, s.Choice = at, c
				if i == 0 && p.Echo != nil {
					s.Text = p.Echo[c] + s.Text
				}
				if last {
					s.Finish = p.FinishReason(c)
				}
				if !yield(*s) {
					return
				}
				*s = Step{}
			}
		}
	}
}

// Whole returns the complete text of each choice and the due time of the last token:
// the answer to a request that does not stream.
func (p *Plan) Whole() (texts []string, end time.Duration) {
	b := make([]strings.Builder, p.Choices)
	for s := range p.Steps() {
		b[s.Choice].WriteString(s.Text)
		end = s.At
	}
	for i := range b {
		texts = append(texts, b[i].String())
	}
	return texts, end
}
