package inputcheck

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/base/argcheck"
	"millrace/internal/base/bytecheck"
)

// Fields of GraphDef, FunctionDefLibrary, FunctionDef and NodeDef.
const (
	graphNode, graphLibrary  = 1, 2
	libraryFunction          = 1
	functionNode, nodeOpType = 3, 2
)

// needed reports whether an operation of a serialized GraphDef parses something,
// has rules for its arguments, or is a loop. It does not build the message, which may be large.
func needed(def []byte) bool {
	return anyField(def, graphNode, concerned) || anyField(def, graphLibrary, func(library []byte) bool {
		return anyField(library, libraryFunction, func(f []byte) bool { return anyField(f, functionNode, concerned) })
	})
}

// concerned reports whether a NodeDef is one of the operations.
func concerned(node []byte) bool {
	return anyField(node, nodeOpType, func(op []byte) bool {
		_, parses := parsers[string(op)]
		return parses || stateful[string(op)] == "While" || string(op) == "While" || bytes.HasPrefix(op, []byte("LookupTableExport")) || bytecheck.Checked(string(op)) || lists[string(op)] || batches[string(op)] || writes(string(op)) || len(argcheck.Of(string(op))) > 0 || string(op) == generatorOp
	})
}

// anyField reports whether a field of bytes in a message meets a condition.
func anyField(message []byte, want protowire.Number, meets func([]byte) bool) bool {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false // it is not a GraphDef; TensorFlow reports that
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(num, typ, message); n < 0 {
			return false
		}
		if num == want && typ == protowire.BytesType {
			if value, _ := protowire.ConsumeBytes(message); meets(value) {
				return true
			}
		}
		message = message[n:]
	}
	return false
}
