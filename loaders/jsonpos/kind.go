package jsonpos

// Kind is what kind of value a Node is.
type Kind uint8

// The kinds. Missing is the kind of what [Node.Key] and [Node.Elem] return
// for something that is not there.
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

// cell is a value or key. The cells of a document lie in the order of their
// text: after a list its elements, after an object key, value, key, value.
type cell struct {
	start, end int32 // in the text
	next       int32 // the cell after this value and all inside it
	kind       Kind
}

// isWord reports whether c is a letter, a digit or an underscore.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
