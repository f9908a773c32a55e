package lint

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

/*
How much of a package points upward

A package reads well when its files have an order: those on top use those
below, and a reader who starts at the bottom never meets a name that comes
later. The share of references that break the order is a number that a test can
hold down. It is computed as follows.

 1. A reference is a use, in one file, of a name that another file of the same
    package declares at package level: a function, type, variable or constant,
    or a method, by a name that only one type of the package has. Test files
    and generated files do not count. Names are resolved by the parser alone: a
    local variable of the same name hides a package-level one (scopes are
    followed roughly, by function), and a selector x.Name counts only as a
    method and only if no imported package is called x.

 2. The files are nodes, and each edge has the number of references as weight.

 3. An order of the files is sought that makes the weight of the edges from a
    lower file to a higher one as small as possible. Without cycles there is an
    order without any such edge. With cycles the best order is hard to find
    (the feedback arc set problem); the greedy order of Eades, Lin and Smyth is
    close to it, and moving single files while that helps makes it closer.

 4. The share is that weight by the weight of all edges. It is computed twice: with the
    number of references as weight, and with 1 for each edge.

The result is an upper bound of the best order's share, and the same each time.
*/

// upwardLimit is the share of references that may point upward.
const upwardLimit = 0.10

// upwardEdgesLimit is the same for edges without weights, where a single use counts as much as
// a hundred. Lower it whenever a package improves.
const upwardEdgesLimit = 0.24

// fewReferences and fewEdges are the numbers below which a share is meaningless.
const fewReferences, fewEdges = 20, 40

func TestFewReferencesPointUpward(t *testing.T) {
	packages := make(map[string][]*source)
	each(t, func(s *source) {
		if !s.test() && !s.generated {
			packages[s.dir()] = append(packages[s.dir()], s)
		}
	})
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		g := referencesOf(packages[dir])
		for _, x := range []struct {
			what  string
			g     references
			few   int
			limit float64
		}{{"references", g, fewReferences, upwardLimit}, {"edges", g.edges(), fewEdges, upwardEdgesLimit}} {
			total, order := x.g.weight(), x.g.order()
			if total < x.few {
				continue
			}
			share := float64(x.g.upward(order)) / float64(total)
			t.Logf("%-28s %3d files %5d %s %5.1f%% upward", dir, len(g), total, x.what, 100*share)
			if share > x.limit {
				t.Errorf("%s: %.1f%% of %d %s between its files point upward, at most %.1f%% are allowed; the heaviest:\n%s",
					dir, 100*share, total, x.what, 100*x.limit, x.g.heaviest(order))
			}
		}
	}
}

// edges returns the graph with a weight of 1 for each edge: a file uses another, however often.
func (g references) edges() references {
	single := make(references)
	for from, edges := range g {
		single[from] = make(map[string]int)
		for to := range edges {
			single[from][to] = 1
		}
	}
	return single
}

// references are the weights of the edges between files: from the file that
// uses a name to the one that declares it.
type references map[string]map[string]int

// referencesOf reads the references between a package's files.
func referencesOf(files []*source) references {
	names, methods := declared(files)
	g := make(references)
	for _, s := range files {
		g[s.path] = make(map[string]int)
		imported := importNames(s)
		count := func(in map[string]string, name string) {
			if to, ok := in[name]; ok && to != s.path && to != "" {
				g[s.path][to]++
			}
		}
		for _, d := range s.file.Decls {
			local := localNames(d)
			var visit func(n ast.Node) bool
			visit = func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && imported[x.Name] && !local[x.Name] {
						return false
					}
					count(methods, n.Sel.Name)
					ast.Inspect(n.X, visit)
					return false
				case *ast.KeyValueExpr: // the key may be a field's name
					if _, ok := n.Key.(*ast.Ident); ok {
						ast.Inspect(n.Value, visit)
						return false
					}
				case *ast.Field: // names of fields and parameters declare
					ast.Inspect(n.Type, visit)
					return false
				case *ast.Ident:
					if !local[n.Name] {
						count(names, n.Name)
					}
				}
				return true
			}
			ast.Inspect(d, visit)
		}
	}
	return g
}

// declared returns the file of each package-level name, and of each method name that
// only one type has. A method name of several types is omitted.
func declared(files []*source) (names, methods map[string]string) {
	names, methods = make(map[string]string), make(map[string]string)
	for _, s := range files {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				if _, again := methods[f.Name.Name]; again {
					methods[f.Name.Name] = ""
				} else {
					methods[f.Name.Name] = s.path
				}
				continue
			}
			for _, name := range declares(d) {
				names[name] = s.path
			}
		}
	}
	delete(names, "_")
	return names, methods
}

// declares returns the package-level names of a declaration.
func declares(d ast.Decl) []string {
	var list []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		list = append(list, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				list = append(list, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					list = append(list, n.Name)
				}
			}
		}
	}
	return list
}

// importNames returns the names of a file's imported packages.
func importNames(s *source) map[string]bool {
	names := make(map[string]bool)
	for _, spec := range s.file.Imports {
		imp := strings.Trim(spec.Path.Value, `"`)
		name := imp[strings.LastIndex(imp, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = true
	}
	return names
}

// localNames returns the names that a function declares: its receiver, parameters,
// results, variables and constants.
func localNames(d ast.Decl) map[string]bool {
	local := make(map[string]bool)
	if _, ok := d.(*ast.FuncDecl); !ok {
		return local
	}
	add := func(list ...*ast.Ident) {
		for _, n := range list {
			local[n.Name] = true
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				for _, f := range n.Recv.List {
					add(f.Names...)
				}
			}
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				for i := range list.NumFields() {
					if i < len(list.List) {
						add(list.List[i].Names...)
					}
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok.String() == ":=" {
					add(id)
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok.String() == ":=" {
					add(id)
				}
			}
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.TypeSpec:
			add(n.Name)
		}
		return true
	})
	return local
}

// weight returns the number of references.
func (g references) weight() int {
	total := 0
	for _, edges := range g {
		for _, n := range edges {
			total += n
		}
	}
	return total
}

// upward counts the references from a file to one before it. The top file
// comes first.
func (g references) upward(order []string) int {
	place := make(map[string]int)
	for i, file := range order {
		place[file] = i
	}
	total := 0
	for from, edges := range g {
		for to, n := range edges {
			if place[to] < place[from] {
				total += n
			}
		}
	}
	return total
}

// order returns the files from the top down, so that few references point
// upward.
func (g references) order() []string {
	return g.improved(g.greedy())
}

// greedy is the heuristic of Eades, Lin and Smyth. It repeatedly moves a file that uses
// no other file to the bottom, and a file that is not used to the top. If there is
// none, the file with the largest difference between outgoing and incoming references
// goes to the top.
func (g references) greedy() []string {
	left := slices.Sorted(maps.Keys(g))
	var top, bottom []string
	for len(left) > 0 {
		uses, used := make(map[string]int), make(map[string]int)
		for _, from := range left {
			for _, to := range left {
				uses[from] += g[from][to]
				used[to] += g[from][to]
			}
		}
		i := slices.IndexFunc(left, func(f string) bool { return uses[f] == 0 })
		if i >= 0 {
			bottom = append(bottom, left[i])
		} else {
			best := slices.MaxFunc(left, func(a, b string) int {
				if used[a] == 0 || used[b] == 0 {
					return cmp.Compare(used[b], used[a])
				}
				return cmp.Compare(uses[a]-used[a], uses[b]-used[b])
			})
			i = slices.Index(left, best)
			top = append(top, best)
		}
		left = slices.Delete(left, i, i+1)
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}

// improved moves single files as long as that reduces the number of upward references.
func (g references) improved(order []string) []string {
	best := g.upward(order)
	for moved := true; moved && best > 0; {
		moved = false
		for _, file := range slices.Clone(order) {
			at, gain := g.bestPlace(order, file)
			if gain <= 0 {
				continue
			}
			i := slices.Index(order, file)
			order = slices.Insert(slices.Delete(order, i, i+1), at, file)
			best, moved = best-gain, true
		}
	}
	return order
}

// bestPlace returns the best position of a file in the order of the others, and by how
// much that reduces the upward references.
func (g references) bestPlace(order []string, file string) (at, gain int) {
	i := slices.Index(order, file)
	rest := slices.Delete(slices.Clone(order), i, i+1)
	cost := 0 // cost of the top position: all references to the file point upward
	for _, other := range rest {
		cost += g[other][file]
	}
	costs := []int{cost}
	for _, other := range rest {
		cost += g[file][other] - g[other][file] // one place further down
		costs = append(costs, cost)
	}
	least := math.MaxInt
	for j, c := range costs {
		if c < least {
			at, least = j, c
		}
	}
	return at, costs[i] - least
}

// heaviest names the edges that point upward, the heaviest first.
func (g references) heaviest(order []string) string {
	type edge struct {
		from, to string
		n        int
	}
	var list []edge
	for i, from := range order {
		for _, to := range order[:i] {
			if n := g[from][to]; n > 0 {
				list = append(list, edge{from, to, n})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b edge) int { return cmp.Compare(b.n, a.n) })
	var b strings.Builder
	for _, e := range list[:min(len(list), 12)] {
		fmt.Fprintf(&b, "  %3d  %s uses %s\n", e.n, e.from, e.to)
	}
	return b.String()
}

func TestUpward(t *testing.T) {
	tests := []struct {
		name string
		g    references
		want int
	}{
		{"none", references{"a": {}, "b": {}}, 0},
		{"a chain", references{"a": {"b": 3}, "b": {"c": 2}, "c": {}}, 0},
		{"a cycle of two", references{"a": {"b": 5}, "b": {"a": 1}}, 1},
		{"a cycle of three", references{"a": {"b": 4}, "b": {"c": 3}, "c": {"a": 2}}, 2},
		{"two cycles", references{"a": {"b": 9, "c": 1}, "b": {"a": 2, "c": 9}, "c": {"b": 3}}, 5},
	}
	for _, tt := range tests {
		order := tt.g.order()
		if got := tt.g.upward(order); got != tt.want || len(order) != len(tt.g) {
			t.Errorf("%s: %d references point upward in %v, want %d", tt.name, got, order, tt.want)
		}
	}
}
