// Package jsonpos parses JSON into a tree whose nodes know their position in the text,
// so that messages can point at a problem.
//
// It is stricter than encoding/json: text must be UTF-8, a string holds no NUL and no
// half of a surrogate pair, and size, depth and number of values are bounded. It keeps
// what encoding/json drops: repeated keys, and the text of numbers. It imports only the
// standard library.
package jsonpos

// The limits of a document. They limit the time and memory that a hostile
// document takes: the memory is a few times its size.
const (
	MaxBytes  = 16 << 20 // length of the text
	MaxDepth  = 64       // nesting of lists and objects
	MaxValues = 1 << 21  // values and keys
)

// Parse parses src, which must hold exactly one JSON value, and returns it. The error
// is an *[Error] with the position of the first fault. Parse keeps src; it must not be
// changed while the tree is in use.
func Parse(src []byte) (*Node, error) {
	p := &parser{src: src}
	if err := p.document(); err != nil {
		err.Line, err.Column = position(src, err.Offset)
		return nil, err
	}
	return &Node{tree: &tree{src: src, cells: p.cells}, elem: -1}, nil
}
