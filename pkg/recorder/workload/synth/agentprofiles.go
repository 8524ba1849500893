package synth

import (
	"maps"
	"slices"
)

// AgentProfiles returns the names of the profiles that AgentProfile knows.
func AgentProfiles() []string { return slices.Sorted(maps.Keys(agentProfiles())) }

// AgentProfile returns the shape of a kind of agents; ok is false for an unknown name.
func AgentProfile(name string) (s AgentShape, ok bool) {
	s, ok = agentProfiles()[name]
	return s, ok
}

// agentProfiles returns the shapes by name. The page docs/reference/made-up.md has the sources of the numbers.
func agentProfiles() map[string]AgentShape {
	n := func(n int) Amount { return Amount{Law: Fixed{n}} }
	between := func(low, high int) Amount { return Amount{Law: Uniform{low, high}} }
	tail := func(mean, stddev float64) Amount { return Amount{Law: LogNormal{mean, stddev}} }
	return map[string]AgentShape{
		"coding": {
			SystemTokens: n(13000), SessionTokens: n(500),
			Tasks: tail(9.2, 82), Turns: tail(8.8, 38),
			TaskTokens: tail(500, 500), ToolTokens: tail(1000, 5200), AnswerTokens: tail(520, 1200),
			ToolDelay: tail(10000, 20000), ThinkTime: tail(60000, 60000),
			Subagents: Amount{Law: Uniform{1, 6}, Percent: 2}, SubagentTurns: Amount{Law: Normal{12, 4}}, SubagentTokens: n(8700), Background: 0.1,
			ResetKeep: 0.2, Context: 160000,
		},
		"chat-tools": {
			SystemTokens: n(2500),
			Tasks:        between(3, 6), Turns: between(1, 4),
			TaskTokens: tail(30, 20), ToolTokens: tail(200, 200), AnswerTokens: tail(100, 100),
			ToolDelay: tail(300, 300), ThinkTime: tail(10000, 10000),
			SubagentTurns: n(1),
			ResetKeep:     0.2, Context: 32000,
		},
		"deep-research": {
			SystemTokens: n(3000),
			Tasks:        n(1), Turns: between(3, 6),
			TaskTokens: tail(200, 100), ToolTokens: tail(2500, 2500), AnswerTokens: tail(315, 130),
			ToolDelay: tail(3000, 3000), ThinkTime: tail(60000, 60000),
			Subagents: between(3, 5), SubagentAfter: n(1), SubagentTurns: between(10, 15), SubagentTokens: n(3000),
			ResetKeep: 0.2, Context: 200000,
		},
	}
}
