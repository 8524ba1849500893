package figure

import (
	"fmt"
	"strings"
	"testing"
)

func TestAgentOrder(t *testing.T) {
	for _, c := range []struct{ agents, want string }{
		{"", ""},
		{"/", "."},
		{"b/ / a/ c/a d/b", ". b d a c"},
		{"c/b b/a a/", "a b c"},           // the root sent nothing
		{"/ x/gone y/x", ". x y"},         // the parent sent nothing
		{"/ p/q q/p s/ t/p", ". s p q t"}, // a ring
		{"/ p/p s/", ". s p"},             // its own parent
		{"/ a/ b/a c/b d/c e/", ". a b c d e"},
		{"x/ x/ /", ". x x"}, // a name twice
	} {
		var agents []AgentName
		for _, a := range strings.Fields(c.agents) {
			id, parent, _ := strings.Cut(a, "/")
			agents = append(agents, AgentName{id, parent})
		}
		var got []string
		for _, i := range AgentOrder(agents) {
			if id := agents[i].ID; id != "" {
				got = append(got, id)
			} else {
				got = append(got, ".")
			}
		}
		if s := fmt.Sprint(strings.Join(got, " ")); s != c.want {
			t.Errorf("%q: %s, want %s", c.agents, s, c.want)
		}
	}
}
