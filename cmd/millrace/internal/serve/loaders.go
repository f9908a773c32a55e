package serve

import (
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/serving"
)

// plans checks the loaders' configs and returns their plans by the names of the
// models, which must be served.
func (f *serveFlags) plans(p *program, configs []serving.ModelConfig) (map[string]*loaders.Plan, error) {
	served := map[string]bool{}
	for _, c := range configs {
		served[c.Name] = true
	}
	replace, err := cli.DecodeReplacement(f.decode)
	if err != nil {
		return nil, err
	}
	plans := map[string]*loaders.Plan{}
	for _, loader := range f.loaders {
		name, config, ok := strings.Cut(loader, "=")
		switch {
		case !ok || name == "" || config == "":
			return nil, millrace.Errorf(millrace.ErrConfig, "--loader %s: want NAME=CONFIG", millrace.Quote(loader))
		case plans[name] != nil:
			return nil, millrace.Errorf(millrace.ErrConfig, "--loader: two loaders for the model %s", millrace.Quote(name))
		case !served[name] && f.configFile == "":
			return nil, millrace.Errorf(millrace.ErrConfig, "--loader %s: no model %s is served, only %q", millrace.Quote(loader), millrace.Quote(name), slices.Sorted(maps.Keys(served)))
		}
		plan, problems := loaders.Check(config, &loaders.CheckOptions{ManifestOnly: true, Mode: spec.ModeEval, Replace: replace, Runtime: p.RuntimeOptions()})
		if plan == nil {
			return nil, problems
		}
		p.PrintProblems(problems)
		plans[name] = plan
	}
	return plans, nil
}
