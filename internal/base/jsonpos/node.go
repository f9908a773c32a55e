package jsonpos

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
)

// tree is shared by all nodes of a document.
type tree struct {
	src   []byte
	cells []cell
	lines []int32 // offsets of the lines, computed on first use
	once  sync.Once
}

// Node is a value of a document, with its path from the top. It is read-only
// and may be shared between goroutines.
type Node struct {
	tree    *tree
	cell    int32
	missing bool
	up      *Node  // the list or object that contains it, nil at the top
	name    string // its key if up is an object
	elem    int    // its index if up is a list, else -1
}

// Kind returns the kind of n.
func (n *Node) Kind() Kind {
	if n.missing {
		return Missing
	}
	return n.tree.cells[n.cell].kind
}

// Offset returns the byte offset of n's text. A missing value has the offset of the
// object or list that lacks it.
func (n *Node) Offset() int { return int(n.tree.cells[n.cell].start) }

// Raw returns n's text, "" if it is missing. Strings are in quotes.
func (n *Node) Raw() string { return string(n.raw()) }

func (n *Node) raw() []byte {
	if n.missing {
		return nil
	}
	c := n.tree.cells[n.cell]
	return n.tree.src[c.start:c.end]
}

// MarshalJSON returns n's text, null if it is missing.
func (n *Node) MarshalJSON() ([]byte, error) {
	if n.Kind() == Missing {
		return []byte("null"), nil
	}
	return n.raw(), nil
}

// Bool returns the value of a Bool, and false for other kinds.
func (n *Node) Bool() bool { return n.Kind() == Bool && n.raw()[0] == 't' }

// Text returns the text of a String, and "" for other kinds.
func (n *Node) Text() string {
	if n.Kind() != String {
		return ""
	}
	return unquote(n.raw())
}

// Number returns the text of a Number, and "" for other kinds.
func (n *Node) Number() json.Number {
	if n.Kind() != Number {
		return ""
	}
	return json.Number(n.raw())
}

// Up returns the list or object that contains n, nil at the top.
func (n *Node) Up() *Node { return n.up }

// Name returns the key of n if it is a member of an object, else "".
func (n *Node) Name() string { return n.name }

// Position returns n's line and column, both from 1, the column in bytes.
func (n *Node) Position() (line, column int) { return n.tree.position(n.Offset()) }

// Len returns the number of elements of a List or members of an Object, and 0
// for other kinds.
func (n *Node) Len() int {
	count := 0
	for range n.children() {
		count++
	}
	if n.Kind() == Object {
		count /= 2
	}
	return count
}

// children yields the cells directly inside a list or object.
func (n *Node) children() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		if k := n.Kind(); k != List && k != Object {
			return
		}
		cells := n.tree.cells
		for i := n.cell + 1; i < cells[n.cell].next; i = cells[i].next {
			if !yield(i) {
				return
			}
		}
	}
}

// Elems yields the elements of a List with their indexes.
func (n *Node) Elems() iter.Seq2[int, *Node] {
	return func(yield func(int, *Node) bool) {
		if n.Kind() != List {
			return
		}
		i := 0
		for c := range n.children() {
			if !yield(i, &Node{tree: n.tree, cell: c, up: n, elem: i}) {
				return
			}
			i++
		}
	}
}

// Elem returns element i of a List, or a Missing node.
func (n *Node) Elem(i int) *Node {
	for j, e := range n.Elems() {
		if j == i {
			return e
		}
	}
	return &Node{tree: n.tree, cell: n.cell, missing: true, up: n, elem: i}
}

// Members yields the members of an Object in the order of the text: first the key, a
// String, then the value. It also yields repeated keys.
func (n *Node) Members() iter.Seq2[*Node, *Node] {
	return func(yield func(*Node, *Node) bool) {
		if n.Kind() != Object {
			return
		}
		var key *Node
		for c := range n.children() {
			if key == nil {
				name := unquote((&Node{tree: n.tree, cell: c}).raw())
				key = &Node{tree: n.tree, cell: c, up: n, name: name, elem: -1}
				continue
			}
			if !yield(key, &Node{tree: n.tree, cell: c, up: n, name: key.name, elem: -1}) {
				return
			}
			key = nil
		}
	}
}

// Key returns the value of the first member of that name, or a Missing node.
func (n *Node) Key(name string) *Node {
	for k, v := range n.Members() {
		if k.name == name {
			return v
		}
	}
	return &Node{tree: n.tree, cell: n.cell, missing: true, up: n, name: name, elem: -1}
}

// Path returns the path to n from the top: "args.padding[0].tensor".
func (n *Node) Path() string {
	var b strings.Builder
	n.writePath(&b)
	return b.String()
}

// maxName is the longest part of a key that a path shows, in bytes.
const maxName = 64

func (n *Node) writePath(b *strings.Builder) {
	if n.up == nil {
		return
	}
	n.up.writePath(b)
	switch {
	case n.elem >= 0:
		fmt.Fprintf(b, "[%d]", n.elem)
	case !isName(n.name):
		fmt.Fprintf(b, "[%q]", n.name[:min(len(n.name), maxName)])
	default:
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(n.name)
	}
}

// isName reports whether a path shows a key without quotes.
func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// position returns line and column of an offset. It finds the starts of the
// lines once for all nodes, because a document may have many problems.
func (t *tree) position(offset int) (line, column int) {
	t.once.Do(func() {
		t.lines = []int32{0}
		for i, c := range t.src {
			if c == '\n' {
				t.lines = append(t.lines, int32(i+1))
			}
		}
	})
	i, found := slices.BinarySearch(t.lines, int32(offset))
	if !found {
		i--
	}
	return i + 1, offset - int(t.lines[i]) + 1
}
