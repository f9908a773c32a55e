package build

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"millrace/internal/test/cases"
	"millrace/internal/test/soak"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

// foreign is a stage that is in no line of the table.
type foreign struct{}

func (foreign) Explain() stage.Explained { return stage.Explained{Name: "foreign"} }

// Each stage of a list is built by one line of the table. A stage without a line is an
// error, wherever it is. A stage with a line is built in its turn, or is an error: no
// other line skips it.
func TestRoute(t *testing.T) {
	seen := map[string]bool{}
	every := soak.Rounds(5, 1)
	for i, name := range cases.All(t) {
		if i%every != 0 {
			continue
		}
		dir := cases.Prepare(t, name)
		s, _ := spec.Check(filepath.Join(dir, "loader.json"), nil)
		if s == nil {
			continue
		}
		for _, library := range []string{"", "native.so"} {
			p := plan.New(s, &plan.Options{NativeLibrary: library})
			scan, err := p.Scan(t.Context())
			if err != nil {
				continue
			}
			target := newTarget(nil, p, scan)
			var built []stage.Stage
			steps, err := route(target, operations)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			kinds := ""
			for _, step := range steps {
				built = append(built, step.builds...)
				for _, s := range step.builds {
					kinds += reflect.TypeOf(s).Name() + " "
				}
				kinds += "| "
			}
			if !sameStages(built, target.Stages) {
				t.Errorf("%s: built %v of %v", name, built, target.Stages)
			}
			if seen[kinds] {
				continue
			}
			seen[kinds] = true
			for i := range len(p.Stages()) {
				target.Stages = slices.Insert(p.Stages(), i, stage.Stage(foreign{}))
				if steps, err := route(target, operations); err == nil || !strings.Contains(err.Error(), "nothing builds the stage") {
					t.Errorf("%s with a foreign stage at %d: got %v, %v", name, i, steps, err)
				}
				steps, err := route(target, append(slices.Clip(operations), operation{begins: of[foreign]}))
				if err == nil && !inOrder(steps, target.Stages, i) {
					t.Errorf("%s with a foreign stage at %d: built %v", name, i, steps)
				}
			}
		}
		os.RemoveAll(dir)
	}
	t.Logf("%d routes", len(seen))
	if len(seen) < 20 {
		t.Errorf("%d ways to build the cases; there are more", len(seen))
	}
}

// inOrder reports whether stage i is built after all stages before it, and before all stages
// after it.
func inOrder(steps []step, list []stage.Stage, i int) bool {
	at := slices.IndexFunc(steps, func(s step) bool { return slices.ContainsFunc(s.builds, of[foreign]) })
	before := 0
	for _, s := range steps[:at] {
		before += len(s.builds)
	}
	return before == i && len(steps[at].builds) == 1
}

// sameStages reports whether two lists have the same stages, whatever their order.
func sameStages(a, b []stage.Stage) bool {
	names := func(list []stage.Stage) (names []string) {
		for _, s := range list {
			names = append(names, reflect.TypeOf(s).String()+s.Explain().What)
		}
		slices.Sort(names)
		return names
	}
	return slices.Equal(names(a), names(b))
}
