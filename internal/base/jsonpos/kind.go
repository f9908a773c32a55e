package jsonpos

// Kind is the kind of a Node's value.
type Kind uint8

// The kinds. Missing is the kind of the node that [Node.Key] and [Node.Elem]
// return for an absent key or element.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	List
	Object
)

// String returns the kind with its article: "a list", "null", "nothing".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case List:
		return "a list"
	case Object:
		return "an object"
	}
	return "nothing"
}

// cell is a value or key. The cells of a document are in the order of the text:
// a list is followed by its elements, an object by key, value, key, value.
type cell struct {
	start, end int32 // offsets in the text
	next       int32 // the cell after this value and all cells inside it
	kind       Kind
}

// isWord reports whether c is a letter, a digit or an underscore.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
