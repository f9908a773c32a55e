package varname

import (
	"slices"
	"testing"

	"millrace/graph/gradients"
	"millrace/savedmodel"
)

// Patterns choose variables by each of their names, in which a slash is a character
// like others.
// Without patterns those are trained that Python did not mark otherwise.
func TestPatternsOfVariables(t *testing.T) {
	v := gradients.Variable{Name: "dense/kernel"}
	named := Name{path: "layers/0/kernel", object: &savedmodel.VariableObject{Name: "head/w", Trainable: true}}
	for pattern, want := range map[string]bool{
		"layers/*": true, "*kernel": true, "layers/0/kernel": true, "layers/?/kernel": true, "dense/*": true, "head/[vw]": true, "*": true, "layers?0/kernel": true,
		"layers": false, "kernel": false, "layers/0": false, "layers?kernel": false, "": false, "[": false,
	} {
		if got := named.Selected(v, []string{"nothing", pattern}); got != want {
			t.Errorf("%q: %v, want %v", pattern, got, want)
		}
	}
	frozen := &savedmodel.VariableObject{Name: "mean"}
	for _, tt := range []struct {
		n        Name
		patterns []string
		want     bool
	}{
		{named, nil, true}, {Name{}, nil, true}, {Name{object: frozen}, nil, false},
		{Name{object: frozen}, []string{"mean"}, true}, {Name{}, []string{""}, false}, {named, []string{}, false},
	} {
		if got := tt.n.Selected(v, tt.patterns); got != tt.want {
			t.Errorf("%+v of %q: %v", tt.n, tt.patterns, got)
		}
	}
	if got := named.All(v); !slices.Equal(got, []string{"head/w", "layers/0/kernel", "dense/kernel"}) {
		t.Errorf("called %q", got)
	}
	if a, b := named.Unique(v), (Name{}).Unique(v); a != "layers/0/kernel" || b != "dense/kernel" {
		t.Errorf("named %q and %q", a, b)
	}
}
