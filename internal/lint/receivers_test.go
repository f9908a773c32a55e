package lint

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

/*
How large a type may be

Files and functions have budgets, so size moves to where no budget is: into receivers. A
type with a hundred methods in thirty files is a package without borders: each method may
use every field, and no reader can tell which of them it needs.
*/

// The budgets of a type that is not part of the API.
const (
	maxMethods     = 30
	maxMethodFiles = 6
)

// receiver has the methods of a type, and the files that declare them.
type receiver struct {
	methods, exported int
	files             map[string]bool
}

// users are the types of the API: the documentation lists their methods in one place.
// For plans see [TestPlan].
var users = map[string]bool{
	"estimator/layers.Net": true, "graph.Scope": true, "graph.Tensor": true, "graph/dataset.Dataset": true,
	"graph/dataset.Structure": true, "graph/image.Image": true, "loaders/run.Pipeline": true,
	"tfbridge.Graph": true, "tfbridge.Session": true,
}

func TestReceivers(t *testing.T) {
	types := receivers(t)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if users[name] {
			continue
		}
		if r := types[name]; r.methods > maxMethods || len(r.files) > maxMethodFiles {
			t.Errorf("%s has %d methods in %d files, at most %d in %d are allowed: make a type of some", name,
				r.methods, len(r.files), maxMethods, maxMethodFiles)
		}
	}
}

// The budgets of a plan, which is part of the API too: the number of its exported
// methods, and the number of its members that package build reads. Stages contain the
// parts of a pipeline.
const (
	planExported = 20
	planRead     = 12
)

func TestPlan(t *testing.T) {
	read := map[string]bool{}
	decisions := methodsOf(t, "loaders/engine", "Choice")
	decisions["Own"], decisions["Timed"] = true, true
	each(t, func(s *source) {
		if (s.dir() == "loaders/build" || strings.HasPrefix(s.dir(), "loaders/build/")) && !s.test() {
			planMembers(s, read, decisions)
		}
	})
	for _, b := range []struct {
		what      string
		n, budget int
	}{
		{"exported methods", receivers(t)["loaders/plan.Plan"].exported, planExported},
		{"members that loaders/build reads", len(read), planRead},
	} {
		t.Logf("a plan has %d %s", b.n, b.what)
		if b.n > b.budget {
			t.Errorf("a plan has %d %s, at most %d are allowed: %v", b.n, b.what, b.budget, slices.Sorted(maps.Keys(read)))
		}
	}
	if len(read) < 5 {
		t.Errorf("loaders/build reads only %v of a plan: this test knows another form of it", slices.Sorted(maps.Keys(read)))
	}
}

// methodsOf returns the exported methods of a type.
func methodsOf(t *testing.T, dir, name string) map[string]bool {
	methods := map[string]bool{}
	each(t, func(s *source) {
		if s.dir() != dir || s.test() {
			return
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && receiverName(f.Recv.List[0].Type) == name {
				methods[f.Name.Name] = true
			}
		}
	})
	return methods
}

// planMembers adds the names of the members of a plan, or of its config, that a file
// reads. Plans are parameters of that type and fields called plan; configs are fields
// called spec. An engine.Choice contains the config as well, so its members that are
// not decisions count.
func planMembers(s *source, read, decisions map[string]bool) {
	for _, d := range s.file.Decls {
		plans := map[string]bool{}
		if f, ok := d.(*ast.FuncDecl); ok {
			for _, field := range f.Type.Params.List {
				if star, ok := field.Type.(*ast.StarExpr); ok && isPlan(star.X) {
					for _, n := range field.Names {
						plans[n.Name] = true
					}
				}
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x := sel.X
			if call, ok := x.(*ast.CallExpr); ok {
				x = call.Fun
			}
			switch x := x.(type) {
			case *ast.SelectorExpr:
				switch x.Sel.Name {
				case "plan", "Plan", "spec", "Spec":
					read[sel.Sel.Name] = true
				case "Engine":
					if !decisions[sel.Sel.Name] {
						read[sel.Sel.Name] = true
					}
				}
			case *ast.Ident:
				if plans[x.Name] {
					read[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
}

// isPlan reports whether an expression names the type of a plan, or of a checked config.
func isPlan(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && (x.Name == "plan" && sel.Sel.Name == "Plan" || x.Name == "spec" && sel.Sel.Name == "Spec")
}

// receivers returns all types with methods.
func receivers(t *testing.T) map[string]*receiver {
	types := map[string]*receiver{}
	each(t, func(s *source) {
		if s.test() || s.generated {
			return
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			name := s.dir() + "." + receiverName(f.Recv.List[0].Type)
			if types[name] == nil {
				types[name] = &receiver{files: map[string]bool{}}
			}
			r := types[name]
			r.methods++
			r.files[s.path] = true
			if f.Name.IsExported() {
				r.exported++
			}
		}
	})
	return types
}

// receiverName returns the name of a receiver's type.
func receiverName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
