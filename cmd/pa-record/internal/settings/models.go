package settings

import (
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
	"github.com/pa-tools/pa/pkg/recorder/workload/render"
)

// models reads which models are asked.
func (p *parser) models(s *Settings) {
	var all []string
	for _, text := range p.c.StringSlice("model") {
		if text == "" { // an empty variable of the environment is none
			continue
		}
		for name := range strings.SplitSeq(text, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
				p.errorf("-m %s: a model has no name; expected NAME,NAME", text)
			case slices.Contains(all, name):
				p.errorf("-m %s: the model is named twice; drop one", name)
			default:
				all = append(all, name)
			}
		}
	}
	if len(all) > 0 {
		s.Model = all[0]
	}
	how := p.c.String("model-selection-strategy")
	switch how {
	case "", workload.RoundRobinModels, workload.RandomModels:
	default:
		p.errorf("--model-selection-strategy %s: it is round_robin or random", how)
	}
	if len(all) < 2 {
		return // one model needs no strategy
	}
	s.Models, s.ModelChoice = all, workload.RoundRobinModels
	if how != "" {
		s.ModelChoice = how
	}
}

// modelsFit refuses several models where the model is not in the request. It is
// called when the endpoint is known.
func (p *parser) modelsFit(s *Settings) {
	if len(s.Models) == 0 || s.ServiceKind != OpenAI {
		return
	}
	if api, ok := render.APIOf(s.EndpointPath()); ok && api == render.Generate {
		p.errorf("--endpoint %s names one model, and -m %s; make a run for each", s.Endpoint, strings.Join(s.Models, ","))
	}
}

// MoreModels returns the models without the first.
func (s *Settings) MoreModels() []string {
	if len(s.Models) == 0 {
		return nil
	}
	return s.Models[1:]
}

// Turns returns how many models get requests in turn.
func (s *Settings) Turns() int {
	if s.ModelChoice == workload.RoundRobinModels {
		return len(s.Models)
	}
	return 1
}
