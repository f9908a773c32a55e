package build

import (
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/target"
	"millrace/loaders/engine"
	"millrace/loaders/plan"
	"millrace/loaders/scan"
	"millrace/tfbridge"
)

// Fixed are the values of a dataset that no run feeds; see [target.Fixed].
type Fixed = target.Fixed

// Dataset adds the plan's dataset to the graph of s, with fixed values in place of those
// that a run feeds, and returns it with the names of its components. No operation of it
// calls Go, so any process can run it that has Millrace's operations. A plan that
// needs Go is an error of class millrace.ErrModel: see [engine.InGo].
func Dataset(s *graph.Scope, p *plan.Plan, found *scan.Scan, fixed Fixed) (d *dataset.Dataset, names []string, err error) {
	if list := engine.InGo(p.Engine()); len(list) > 0 {
		return nil, nil, refuse(p, list)
	}
	if err := needNative(p); err != nil {
		return nil, nil, err
	}
	t := newTarget(s.SubScope("loader"), p, found)
	t.Fixed = &fixed
	if d, err = datasetOf(t); err != nil {
		return nil, nil, fail(p, err)
	}
	for _, x := range t.Out.Results() {
		names = append(names, x.Name)
	}
	return byName(t, d, names), names, t.Scope.Err()
}

// byName returns the dataset with the component of each tensor where its name is. Where parsing
// decides the order, names move to their components, unless a component has several.
func byName(t *target.Target, d *dataset.Dataset, names []string) *dataset.Dataset {
	if t.Order == nil {
		return d
	}
	if len(d.Specs()) == len(names) {
		for i, x := range t.Out.Results() {
			names[t.Order[i]] = x.Name
		}
		return d
	}
	return d.Map("order", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		ordered := make([]tfbridge.Output, len(names))
		for i := range ordered {
			ordered[i] = graph.Identity(s, args[t.Order[i]])
		}
		return ordered
	}, target.Inline())
}

// refuse returns the error of a plan with stages that call Go.
func refuse(p *plan.Plan, list []engine.GoStage) error {
	var reasons []string
	for _, s := range list {
		reasons = append(reasons, s.Stage+": "+s.Why)
	}
	e := millrace.Errorf(millrace.ErrModel, "no other process can run the graph of this plan, because stages of it call Go; %s", strings.Join(reasons, "; "))
	e.Loader = p.Path
	return e
}
