package sim

import (
	"iter"
	"strings"
	"time"
)

// maxContextTokens bounds a request's tokens whatever the configuration, and
// with them the sum of its delays (see maxDelay).
const maxContextTokens = 1 << 20

// maxChoices bounds n × prompts of one request.
const maxChoices = 128

// An ask is what a request wants from the model, all defaults resolved.
type ask struct {
	index       uint64 // the request's place in the order of arrival
	key         uint64 // what texts and lengths are drawn with: its seed, else its index
	inputTokens int
	echo        []string // per choice, what precedes its first token; nil: nothing

	choices   int
	length    Length // where a text ends by itself
	maxTokens int    // 0: not given
	minTokens int
	ignoreEOS bool
	room      int // what the context leaves for output, at least 1

	ttft, itl      Delay
	prefill        time.Duration
	vocabulary     Vocabulary
	tokensPerEvent int
	final          Final
	fault          Fault
	faultAfter     int
}

// A plan says what is sent when. It is a pure function of the configuration's
// seed and the ask.
type plan struct {
	ask
	seed    uint64
	lengths []int // tokens of each choice
}

// A step is the output of one choice that is due at one time.
type step struct {
	at     time.Duration // since the start of the request
	choice int
	first  bool // the choice's first
	tokens int  // how many tokens the text has, at least 1
	text   string
	finish string // "stop" or "length" with the choice's last, else ""
}

func newPlan(seed uint64, a ask) *plan {
	p := &plan{ask: a, seed: seed, lengths: make([]int, a.choices)}
	for c := range p.lengths {
		n := a.length.sample(uniform(seed, mix(a.key)+uint64(c), drawLength, 0))
		if a.ignoreEOS && a.maxTokens > 0 {
			n = a.maxTokens
		}
		n = max(n, a.minTokens)
		if a.maxTokens > 0 {
			n = min(n, a.maxTokens)
		}
		p.lengths[c] = min(n, a.room)
	}
	if a.final == FinalAttached {
		// Nothing can go wrong after a last token that is final.
		p.faultAfter = min(p.faultAfter, p.outputTokens()-1)
	}
	return p
}

// outputTokens returns the tokens of all choices together.
func (p *plan) outputTokens() int {
	n := 0
	for _, l := range p.lengths {
		n += l
	}
	return n
}

// finishReason returns why a choice ends: "length" if max_tokens or the context
// cut it.
func (p *plan) finishReason(choice int) string {
	if n := p.lengths[choice]; n == p.maxTokens || n == p.room {
		return "length"
	}
	return "stop"
}

// ttftDelay returns when the first token is due, since the request's start.
func (p *plan) ttftDelay() time.Duration {
	d := p.ttft.sample(uniform(p.seed, p.index, drawTTFT, 0))
	return d + time.Duration(p.inputTokens)*p.prefill
}

// steps returns what is due, in the order of the due times. All choices keep
// the same pace, as in a batch; those due together come in their order.
func (p *plan) steps() iter.Seq[step] {
	return func(yield func(step) bool) {
		longest := 0
		for _, l := range p.lengths {
			longest = max(longest, l)
		}
		pending := make([]step, p.choices)
		var at time.Duration
		for i := range longest {
			if i == 0 {
				at = p.ttftDelay()
			} else {
				at += p.itl.sample(uniform(p.seed, p.index, drawITL, i))
			}
			for c := range pending {
				if i >= p.lengths[c] {
					continue
				}
				s := &pending[c]
				s.text += tokenText(p.vocabulary, p.seed, p.key, c, i)
				s.tokens++
				last := i == p.lengths[c]-1
				if i > 0 && s.tokens < p.tokensPerEvent && !last {
					continue
				}
				s.at, s.choice, s.first = at, c, i == 0
				if i == 0 && p.echo != nil {
					s.text = p.echo[c] + s.text
				}
				if last {
					s.finish = p.finishReason(c)
				}
				if !yield(*s) {
					return
				}
				*s = step{}
			}
		}
	}
}

// whole returns the complete text of each choice and when the last token is
// due: the answer to a request that does not stream.
func (p *plan) whole() (texts []string, end time.Duration) {
	b := make([]strings.Builder, p.choices)
	for s := range p.steps() {
		b[s.choice].WriteString(s.text)
		end = s.at
	}
	for i := range b {
		texts = append(texts, b[i].String())
	}
	return texts, end
}
