package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// references are the weights of the edges between files: from the file that
// uses a name to the one that declares it.
type references map[string]map[string]int

// usedNames are the names of each edge, from the file that uses them to the one that
// declares them.
type usedNames map[[2]string]map[string]bool

// list returns a few of the names, sorted.
func (u usedNames) list(from, to string) string {
	names := slices.Sorted(maps.Keys(u[[2]string{from, to}]))
	if len(names) > 6 {
		names = append(names[:6], "…")
	}
	return strings.Join(names, " ")
}

// resolver finds the declaration of each name with Go's type checker. It reads the packages
// of this repository from their sources. All other packages are empty, because their types
// cost more time than they find: a method of a value that another module's function
// returned is then not counted.
type resolver struct {
	fset    *token.FileSet
	module  string
	sources map[string][]*source // key: the folder
	checked map[string]*types.Package
	uses    map[string]map[*ast.Ident]types.Object // key: the folder
}

func newResolver(module string, all []*source) *resolver {
	r := &resolver{module: module, sources: make(map[string][]*source), checked: make(map[string]*types.Package),
		uses: make(map[string]map[*ast.Ident]types.Object)}
	for _, s := range all {
		if !s.test() {
			r.fset = s.fset
			r.sources[s.dir()] = append(r.sources[s.dir()], s)
		}
	}
	return r
}

// Import returns a package by its path. It makes resolver a [types.Importer].
func (r *resolver) Import(imported string) (*types.Package, error) {
	if imported == "unsafe" {
		return types.Unsafe, nil
	}
	if dir, ours := strings.CutPrefix(imported+"/", r.module+"/"); ours && r.sources[path.Clean(dir)] != nil {
		return r.check(path.Clean(dir)), nil
	}
	if r.checked[imported] == nil {
		r.checked[imported] = types.NewPackage(imported, path.Base(imported))
		r.checked[imported].MarkComplete()
	}
	return r.checked[imported], nil
}

// check resolves the names in a folder. Errors do not matter: empty packages cause many.
func (r *resolver) check(dir string) *types.Package {
	imported := path.Join(r.module, dir)
	if p := r.checked[imported]; p != nil {
		return p
	}
	var files []*ast.File
	for _, s := range r.sources[dir] {
		files = append(files, s.file)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: r, FakeImportC: true, Error: func(error) {}}
	r.checked[imported], _ = config.Check(imported, r.fset, files, info)
	r.uses[dir] = info.Uses
	return r.checked[imported]
}

// references returns the references between the files of a folder, and their names.
func (r *resolver) references(dir string) (references, usedNames) {
	p := r.check(dir)
	g, names := make(references), make(usedNames)
	for _, s := range r.sources[dir] {
		if !s.generated {
			g[s.path] = make(map[string]int)
		}
	}
	for id, o := range r.uses[dir] {
		_, method := o.(*types.Func)
		if o.Pkg() != p || o.Parent() != p.Scope() && !method {
			continue // another package's, a local name, or a field
		}
		from, to := r.fset.Position(id.Pos()).Filename, r.fset.Position(o.Pos()).Filename
		if from == to || g[from] == nil || g[to] == nil {
			continue
		}
		g[from][to]++
		edge := [2]string{from, to}
		if names[edge] == nil {
			names[edge] = make(map[string]bool)
		}
		names[edge][o.Name()] = true
	}
	return g, names
}

func TestReferences(t *testing.T) {
	files := map[string]string{
		"low.go": `package p
import "example.com/other"
type T struct{ size int }
func (T) Size() int { return 0 }
func (T) Close() {}
type U struct{ T; Shown int; of other.Type }
func (U) Close() {}
func limit() {}
type closer interface{ Close() }`,
		"field.go": `package p
import "example.com/other"
type f struct{ Size, limit int; other.T }
func (x f) g(size int) int { limit := x.Size; other.Close(); return limit + x.limit }`,
		"method.go": `package p
func h(c closer) { c.Close() }
func i(u *U) { u.Close(); u.Size(); limit(); u.Shown++ }`,
	}
	fset := token.NewFileSet()
	var all []*source
	for _, name := range slices.Sorted(maps.Keys(files)) {
		s, err := newSource(fset, "p/"+name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	g, names := newResolver("example.com/m", all).references("p")
	if len(g["p/field.go"])+len(g["p/low.go"]) > 0 || g["p/method.go"]["p/low.go"] != 6 {
		t.Errorf("references are %v, want 6 of method.go to low.go, and no others: names of fields, parameters, variables and of other packages do not count", g)
	}
	if got, want := names.list("p/method.go", "p/low.go"), "Close Size U closer limit"; got != want {
		t.Errorf("the names are %q, want %q", got, want)
	}
}
