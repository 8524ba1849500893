package inputs

import (
	"context"
	"fmt"

	"github.com/pa-tools/pa/cmd/pa-record/internal/settings"
	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/dataset"
	"github.com/pa-tools/pa/pkg/recorder/workload/synth"
)

// makeEntries returns prompts that are made up.
func makeEntries(s *settings.Settings, tok *tokenCounter) (workload.Source, error) {
	texts, err := tok.loadTexts()
	if err != nil {
		return nil, err
	}
	c := synth.Config{
		Texts: texts, Seed: s.Seed, Input: s.InputLengths, Output: s.OutputLengths, Exact: s.ExactOutput,
		Prefixes: s.Prefixes, PrefixTokens: s.PrefixTokens, Prompts: s.DatasetEntries,
		More: max(0, s.BatchTexts-1),
	}
	if s.Ranks() {
		c.More = max(1, s.BatchTexts)
	}
	if s.MadeSessions > 0 {
		c.Prompts, c.Sessions, c.Delay = 0, s.MadeSessions, s.ThinkTime()
		c.Turns = synth.Normal{Mean: s.TurnsMean, Stddev: s.TurnsStddev}
	}
	return synth.New(c)
}

// adapt returns src as the settings want prompts that were not made up: with
// lengths of answers, a beginning of their own, other think times.
// facts is nil for data without files.
func adapt(src workload.Source, s *settings.Settings, tok *tokenCounter, facts *dataset.Facts) (workload.Source, error) {
	if s.DelayRatio != nil {
		src = workload.Map(src, workload.ScaleThinkTime(*s.DelayRatio))
	}
	if s.InputLengths != nil {
		return src, nil
	}
	if s.OutputLengths != nil {
		change := workload.WithOutputLength(func(k int) int { return synth.OutputTokens(s.OutputLengths, s.Seed, k) }, s.ExactOutput)
		if facts != nil && facts.Prompts > 0 { // otherwise nothing takes the length, which is an error
			change = exceptWhole(change)
		}
		src = workload.Map(src, change)
	}
	if s.CacheSalt == "" && s.Prefixes == 0 {
		return src, nil
	}
	texts, err := tok.loadTexts()
	if err != nil {
		return nil, fmt.Errorf("--cache-bust, --num-prefix-prompts: %w", err)
	}
	if s.CacheSalt != "" {
		src = workload.Map(src, workload.WithPrefix(func(k int, _ *workload.Entry) (string, error) { return texts.Opening(uint64(k)), nil }))
	}
	if s.Prefixes > 0 {
		src = workload.Map(src, workload.WithPrefix(func(k int, e *workload.Entry) (string, error) {
			if e.Turn > 0 {
				return "", nil // the first turn has it, and is sent again with every other
			}
			return texts.Prefix(uint64(k), s.Prefixes, s.PrefixTokens)
		}))
	}
	return src, nil
}

// exceptWhole returns change without an effect on whole requests, which settings.Settings names.
func exceptWhole(change func(int, *workload.Entry) error) func(int, *workload.Entry) error {
	return func(k int, e *workload.Entry) error {
		if e.Prompt == nil || e.Prompt.Body != nil {
			return nil
		}
		return change(k, e)
	}
}

// illustrate adds made-up images and audio to src, which e closes.
func (e *Data) illustrate(ctx context.Context, s *settings.Settings, src workload.Source) error {
	if !s.HasMedia() {
		e.Source = src
		return nil
	}
	illustrated, err := synth.AddMedia(ctx, src, s.Media, "")
	if err != nil {
		return err
	}
	e.Source, e.media, e.Close = illustrated, illustrated, illustrated.Close
	return nil
}
