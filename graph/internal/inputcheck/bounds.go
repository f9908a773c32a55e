package inputcheck

// A bound is the solution of an equation: a sum has the largest bound of its inputs, and the variable of
// a loop the larger one of its first value and of what an iteration makes of it.
// The solution is the least one, so that a variable of a loop which keeps its dimensions
// has the bound of its first value. A graph may have millions of operations in a row, so the
// solver doesn't recurse; and paths that double with each operation, so that it computes
// each equation a few times at most.

// quantity is what a bound is about.
type quantity int

const (
	ofDims     quantity = iota // number of dimensions of a tensor
	ofElements                 // number of elements of a vector
	ofContents                 // most dimensions of a tensor in a dataset, or in a dataset within it
)

// anyDims is the bound for a tensor that may have as many dimensions as TensorFlow allows.
const anyDims = 254

// unboundedElements is the bound for a vector of any length.
const unboundedElements = 1 << 20

// limits are the largest values of the bounds.
var limits = [...]int{ofDims: anyDims, ofElements: unboundedElements, ofContents: anyDims}

// tensor is a tensor of a function.
type tensor struct{ body, name string }

// boundKey names a bound.
type boundKey struct {
	quantity
	tensor
}

// bound is a bound, and the ones that are computed from it.
type bound struct {
	value    int
	users    []boundKey
	rises    int
	visited  bool // its equation is known
	finished bool // its equation was computed after those that it reads
}

// maxRises is how often a bound may rise before it is taken for unlimited. A
// loop that adds a dimension in each iteration would raise it to the limit step by step.
const maxRises = 16

// boundTask is a bound that is to be computed, or whose inputs are to be found first.
type boundTask struct {
	boundKey
	finish bool
}

// bounds solves the equations.
type bounds struct {
	known   map[boundKey]*bound
	equate  func(k boundKey) int // the right side of an equation; it reads others by get
	reading *boundKey            // the equation that is computed
	pending []boundTask
}

// get returns a bound. While an equation is computed, it returns what is known so far.
func (b *bounds) get(q quantity, body, name string) int {
	k := boundKey{q, tensor{body, name}}
	if b.reading != nil {
		return b.read(k)
	}
	if at := b.known[k]; at != nil {
		return at.value
	}
	b.known[k] = &bound{}
	b.pending = append(b.pending, boundTask{boundKey: k})
	for len(b.pending) > 0 {
		next := b.pending[len(b.pending)-1]
		b.pending = b.pending[:len(b.pending)-1]
		b.step(next)
	}
	return b.known[k].value
}

// read returns what is known of a bound for the equation that is computed.
func (b *bounds) read(k boundKey) int {
	at := b.known[k]
	if at == nil {
		at = &bound{}
		b.known[k] = at
	}
	if !at.visited || !b.known[*b.reading].visited { // an equation always reads the same bounds
		at.users = append(at.users, *b.reading)
	}
	if !at.visited {
		b.pending = append(b.pending, boundTask{boundKey: k})
	}
	return at.value
}

// step finds what an equation reads, or computes it.
func (b *bounds) step(t boundTask) {
	at := b.known[t.boundKey]
	if !t.finish && at.visited {
		return
	}
	if !t.finish {
		b.pending = append(b.pending, boundTask{t.boundKey, true})
	}
	b.reading = &t.boundKey
	v := min(b.equate(t.boundKey), limits[t.quantity])
	b.reading = nil
	at.visited = true
	if !t.finish {
		return
	}
	at.finished = true
	if v <= at.value {
		return
	}
	if at.value = v; at.rises == maxRises {
		at.value = limits[t.quantity]
	}
	at.rises++
	for _, user := range at.users {
		if b.known[user].finished {
			b.pending = append(b.pending, boundTask{user, true})
		}
	}
}
