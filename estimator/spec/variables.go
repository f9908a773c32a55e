package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"millrace/diag"
	"millrace/estimator"
	"millrace/loaders/decl"
)

// shownVariables is how many names of variables a hint lists at most.
const shownVariables = 8

// variables checks that each pattern of model.train.variables matches a variable.
func variables(c *checker) {
	m := &c.run.Config.Model
	if c.run.Model == nil || m.Train.At == nil || m.Train.Bad("variables") {
		return
	}
	names := c.run.Model.VariableNames()
	for i, pattern := range m.Train.Variables {
		if _, err := path.Match(pattern, ""); err != nil {
			c.report.Report(m.Train.Key("variables").Elem(i), "%s is not a pattern: %v", decl.Quote(pattern), err)
			continue
		}
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return estimator.MatchesVariable(pattern, name) }) {
			continue
		}
		d := c.report.Report(m.Train.Key("variables").Elem(i), "no variable of the model is named %s", decl.Quote(pattern))
		d.Hint = nearVariable(pattern, names)
	}
}

// nearVariable proposes another pattern, or lists names.
func nearVariable(pattern string, names []string) string {
	known := slices.Clone(names)
	for _, name := range names {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			known = append(known, dir+"/*")
		}
	}
	if hint := diag.DidYouMean(pattern, known); hint != "" {
		return hint
	}
	var python []string
	for _, name := range names {
		if !strings.HasPrefix(name, "variables/") && !strings.HasPrefix(name, "_all_variables/") {
			python = append(python, name)
		}
	}
	if len(python) > shownVariables {
		return fmt.Sprintf("there is %q and %d more", python[:shownVariables], len(python)-shownVariables)
	}
	return fmt.Sprintf("there is %q", python)
}
