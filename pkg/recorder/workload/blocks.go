package workload

import (
	"cmp"
	"slices"
	"time"
)

// Blocks are the blocks of tokens that a prompt begins with. Equal ids of one scope are equal blocks after equal blocks.
type Blocks struct {
	Scope string // what ids mean something in; "" for all of the data
	Size  int    // tokens in a block
	IDs   []int64
	// Tokens is the length of the prompt. Its last block may be partial, and it may go on after the blocks that have ids.
	Tokens int
}

// Full returns the ids of the full blocks.
func (b *Blocks) Full() []int64 {
	if b.Size == 0 {
		return nil
	}
	return b.IDs[:min(len(b.IDs), b.Tokens/b.Size)]
}

// A Hit is a part of a prompt that a prefix cache can hold.
type Hit struct{ Hit, Total int }

// PossibleHits returns how many of the full blocks of each node of s an unlimited prefix cache could have held in the recording:
// the longest run of its first blocks that requests held which had ended when it was sent. A request without a known end counts as
// one that ended at once. All zero if s has no blocks.
func PossibleHits(s *Session) []Hit {
	hits := make([]Hit, len(s.Nodes))
	if s.Blocks == nil {
		return hits
	}
	order := make([]int, len(s.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Nodes[a].Past.Start, s.Nodes[b].Past.Start) })
	type scope struct {
		since map[int64]time.Duration // by id, when the first request with the block had ended
		held  []int64                 // ids that were there for the request before, and so are for all later ones
	}
	scopes := map[string]*scope{}
	for _, i := range order {
		b, past := s.Blocks(i), s.Nodes[i].Past
		of := scopes[b.Scope]
		if of == nil {
			of = &scope{since: map[int64]time.Duration{}}
			scopes[b.Scope] = of
		}
		ids, since := b.Full(), of.since
		hit := &hits[i]
		hit.Total = len(ids)
		for hit.Hit < len(ids) && hit.Hit < len(of.held) && ids[hit.Hit] == of.held[hit.Hit] {
			hit.Hit++
		}
		for _, id := range ids[hit.Hit:] {
			if at, ok := since[id]; !ok || at > past.Start {
				break
			}
			hit.Hit++
		}
		of.held = ids[:hit.Hit]
		end := past.Start
		if past.Ended {
			end = past.End
		}
		for _, id := range b.IDs[hit.Hit:] { // the others were there before it began
			if at, ok := since[id]; !ok || end < at {
				since[id] = end
			}
		}
	}
	return hits
}
