package lint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
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
    package declares: a function, type, variable or constant at package level,
    or a method. Test files and generated files do not count. Go's type checker
    resolves the names, see resolver.

 2. The files are nodes, and each edge has the number of references as weight.

 3. An order of the files is sought that makes the weight of the edges from a
    lower file to a higher one as small as possible. Without cycles there is an
    order without any such edge. With cycles the best order is hard to find
    (the feedback arc set problem); the greedy order of Eades, Lin and Smyth is
    close to it. Moving single files while that helps makes it closer, and so does
    doing that again after a few random moves.

 4. The share is that weight by the weight of all edges. It is computed twice: with the
    number of references as weight, and with 1 for each edge.

The result is an upper bound of the best order's share, and the same each time.
*/

// upwardLimit is the share of references that may point upward.
const upwardLimit = 0.10

// upwardEdgesLimit is the same for edges without weights, where a single use counts as much as
// a hundred.
const upwardEdgesLimit = 0.10

// fewReferences and fewEdges are the numbers below which a share is meaningless.
const fewReferences, fewEdges = 20, 40

func TestFewReferencesPointUpward(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	r := newResolver("millrace", all)
	for _, dir := range slices.Sorted(maps.Keys(r.sources)) {
		g, names := r.references(dir)
		for _, x := range []struct {
			what  string
			g     references
			few   int
			limit float64
		}{{"references", g, fewReferences, upwardLimit}, {"edges", g.edges(), fewEdges, upwardEdgesLimit}} {
			total := x.g.weight()
			if total < x.few {
				continue
			}
			order := x.g.order(int(x.limit * float64(total)))
			share := float64(x.g.upward(order)) / float64(total)
			t.Logf("%-28s %3d files %5d %s %5.1f%% upward", dir, len(g), total, x.what, 100*share)
			if share > x.limit {
				t.Errorf("%s: %.1f%% of %d %s between its files point upward, at most %.1f%% are allowed; the heaviest:\n%s",
					dir, 100*share, total, x.what, 100*x.limit, x.g.heaviest(order, names))
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
// upward. It stops where as few do as are enough.
func (g references) order(enough int) []string {
	best := g.improved(g.greedy())
	least := g.upward(best)
	random := rand.New(rand.NewPCG(1, 2))
	for range restarts {
		if least <= enough {
			break
		}
		order := slices.Clone(best)
		for range 1 + random.IntN(6) {
			i, to := random.IntN(len(order)), random.IntN(len(order))
			file := order[i]
			order = slices.Insert(slices.Delete(order, i, i+1), to, file)
		}
		order = g.improved(order)
		if n := g.upward(order); n <= least {
			best, least = order, n
		}
	}
	return best
}

// restarts is how often order moves files at random and improves the result. The moves are
// the same in each run.
const restarts = 40

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

// heaviest names the edges that point upward and what they use, the heaviest first.
func (g references) heaviest(order []string, names usedNames) string {
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
		fmt.Fprintf(&b, "  %3d  %s uses %s: %s\n", e.n, e.from, e.to, names.list(e.from, e.to))
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
		order := tt.g.order(0)
		if got := tt.g.upward(order); got != tt.want || len(order) != len(tt.g) {
			t.Errorf("%s: %d references point upward in %v, want %d", tt.name, got, order, tt.want)
		}
	}
}
