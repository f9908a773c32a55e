// Package opgen writes Go functions for operations: package graph/op, with one
// for each public operation of the runtime, and packages for the libraries of
// users. Its test generates the files of graph/op from the runtime's operations,
// compares them with the committed files, and writes them with -update. [Wrap]
// is what "millrace ops wrap" calls.
//
// If TensorFlow's own Go package op has a function, ours has the same name, parameters
// and results. The names that TensorFlow's API definitions add, which the runtime does
// not know, are in names.txt: see [ParseNames]. The first sentence of each function's
// comment is in summaries.txt: see [ParseSummaries].
package opgen

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// Tables are the inputs of the generator in addition to the operations.
type Tables struct {
	Names     *Names
	Summaries map[string]string
}

// handWritten are the operations whose functions are written by hand. Const is
// one because the type of its argument determines its attributes.
const handWritten = "Const"

// own is the prefix of the names of our own operations, which may be loaded
// too.
const own = "Millrace"

// Public returns the public operations of a serialized OpList, by name: those
// of TensorFlow that do not begin with an underscore.
func Public(ops []byte) ([]*tfproto.OpDef, error) {
	var list tfproto.OpList
	if err := proto.Unmarshal(ops, &list); err != nil {
		return nil, fmt.Errorf("read the list of operations: %w", err)
	}
	var public []*tfproto.OpDef
	for _, op := range list.Op {
		if !strings.HasPrefix(op.Name, "_") && !strings.HasPrefix(op.Name, own) {
			public = append(public, op)
		}
	}
	slices.SortFunc(public, func(a, b *tfproto.OpDef) int { return strings.Compare(a.Name, b.Name) })
	return public, nil
}

// Generate returns the files of package op by name, for the public operations.
func Generate(public []*tfproto.OpDef, t *Tables) (map[string][]byte, error) {
	var functions []function
	known := map[string]bool{}
	for _, op := range public {
		known[op.Name] = true
		if op.Name == handWritten {
			continue
		}
		summary, ok := t.Summaries[op.Name]
		if !ok {
			return nil, fmt.Errorf("summaries.txt has no line for %s", op.Name)
		}
		f, err := newFunction(op, t.Names, ours)
		if err != nil {
			return nil, err
		}
		f.summary = summary
		functions = append(functions, *f)
	}
	for op := range t.Summaries {
		if !known[op] {
			return nil, fmt.Errorf("summaries.txt describes %s, which is not a public operation", op)
		}
	}
	return files(functions)
}
