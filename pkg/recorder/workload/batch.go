package workload

import (
	"errors"
	"fmt"
)

// A Batch describes requests that combine the texts and images of several entries.
type Batch struct {
	// N is the number of requests.
	N int
	// Texts and Images are numbers of entries per request, at least 1. The texts of a
	// request come from different entries, and so do its images.
	Texts, Images int
	Seed          uint64
}

// Batches returns requests that combine randomly chosen entries of src. It returns an
// error if src has too few entries.
func Batches(src Source, b Batch) (Source, error) {
	if _, ok := src.(Sessions); ok {
		return nil, errors.New("the requests of sessions cannot be combined with others")
	}
	if most := max(b.Texts, b.Images); most > src.Len() {
		return nil, fmt.Errorf("a request takes %d entries; there are only %d", most, src.Len())
	}
	return batches{src, b}, nil
}

type batches struct {
	src Source
	b   Batch
}

// Len implements Source.
func (s batches) Len() int { return s.b.N }

// Purposes of random choices. Choices for different purposes are independent.
const (
	chooseTexts = iota
	chooseImages
	chooseQuery
)

// At implements Source.
func (s batches) At(k int) (Entry, error) {
	p := &Prompt{}
	e := Entry{Step: k, Prompt: p}
	var texts []string
	for j := range s.b.Texts {
		one, err := chosen(s.src, s.b.Seed, chooseTexts, k, j)
		if err != nil {
			return e, err
		}
		e.File = one.File
		if first := one.Prompt; j == 0 {
			p.MaxTokens, p.Exact, p.Extra = first.MaxTokens, first.Exact, first.Extra
		}
		if text := one.Prompt.Text; text != "" || len(one.Prompt.Media) == 0 {
			texts = append(texts, text)
		}
	}
	for j := range s.b.Images {
		one, err := chosen(s.src, s.b.Seed, chooseImages, k, j)
		if err != nil {
			return e, err
		}
		p.Media = append(p.Media, one.Prompt.Media...)
	}
	if len(texts) > 0 {
		p.Text, p.More = texts[0], texts[1:]
	}
	return e, nil
}

// chosen returns the entry that is member j of request k. It returns an error if the entry
// cannot be combined with others.
func chosen(src Source, seed, what uint64, k, j int) (Entry, error) {
	n := src.Len()
	i := 0
	if n > 1 {
		i = permute(mix(mix(seed, what), uint64(k)), j, n)
	}
	e, err := src.At(i)
	if err == nil {
		if err = checkCombinable(&e); err != nil {
			err = fmt.Errorf("%s: %w", e.Place(), err)
		}
	}
	return e, err
}

// checkCombinable returns an error for an entry that cannot be combined with others.
func checkCombinable(e *Entry) error {
	switch p := e.Prompt; {
	case p == nil || p.Body != nil || p.Messages != nil:
		return fmt.Errorf("cannot be combined with other entries: it %w", errWholeRequest)
	case p.isIDs():
		return errors.New("cannot be combined with other entries: it holds token ids")
	case e.Session != "":
		return errors.New("cannot be combined with other entries: it is a turn of a session")
	case len(p.More) > 0:
		return fmt.Errorf("cannot be combined with other entries: it holds %d texts already", 1+len(p.More))
	}
	return nil
}

// Rankings returns requests that rank passages by a query. With one passage per request,
// request k pairs query k with passage k, up to the end of the shorter source. Otherwise
// there are b.N requests of randomly chosen passages and queries.
func Rankings(queries, passages Source, b Batch) (Source, error) {
	if b.Texts <= 1 {
		return pairs{queries, passages}, nil
	}
	ranked, err := Batches(passages, b)
	if err != nil {
		return nil, fmt.Errorf("passages: %w", err)
	}
	return queriedBatches{queries, ranked, b}, nil
}

// pairs is a source of queries with one passage each.
type pairs struct{ queries, passages Source }

// Len implements Source.
func (s pairs) Len() int { return min(s.queries.Len(), s.passages.Len()) }

// At implements Source.
func (s pairs) At(k int) (Entry, error) {
	query, err := s.queries.At(k)
	if err != nil {
		return query, err
	}
	passage, err := s.passages.At(k)
	if err != nil {
		return passage, err
	}
	return ranking(&query, &passage)
}

// queriedBatches is a source of batches of passages with a query each.
type queriedBatches struct {
	queries, passages Source
	b                 Batch
}

// Len implements Source.
func (s queriedBatches) Len() int { return s.passages.Len() }

// At implements Source.
func (s queriedBatches) At(k int) (Entry, error) {
	passages, err := s.passages.At(k)
	if err != nil {
		return passages, err
	}
	query, err := chosen(s.queries, s.b.Seed, chooseQuery, k, 0)
	if err != nil {
		return query, err
	}
	return ranking(&query, &passages)
}

// ranking returns a copy of e in which the text of query comes first. The server ranks the
// texts of e by that query.
func ranking(query, e *Entry) (Entry, error) {
	for _, one := range []*Entry{query, e} {
		if one.Prompt == nil || one.Prompt.Body != nil || one.Prompt.Messages != nil {
			return *e, fmt.Errorf("%s: cannot be ranked: it %w", one.Place(), errWholeRequest)
		}
	}
	p := *e.Prompt
	p.More = append([]string{p.Text}, p.More...)
	p.Text = query.Prompt.Text
	out := *e
	out.Prompt = &p
	return out, nil
}
