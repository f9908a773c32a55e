// Package effect is a reviewed table, effects.txt, of the effects that TensorFlow's
// operations have on the tensors of other operations. It covers every operation that a
// model may use.
//
//	row, ok := effect.Of("InplaceUpdate")
//	fmt.Println(ok, row.Writes) // true [0]
//
// Package savedmodel derives its rules from the table. Tests run the kernels and
// compare their behaviour with the rows.
package effect

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed effects.txt
var text string

// Row describes the effects of one operation. Numbers are positions of inputs, names
// are those of attributes that hold the data types of outputs.
type Row struct {
	Pure   bool // no effects except in the other fields
	Fresh  bool // each run makes a new tensor; TensorFlow never evaluates it in advance
	Alias  bool // an output may share its buffer with an input or with a stored tensor
	State  bool // a later run may see state that it stored
	Calls  bool // it runs functions of the graph
	Prints bool // it prints

	Writes  []int // inputs whose buffers it changes even if others use them
	Refs    []int // inputs that refer to the variable that it changes
	Strings []int // inputs that are strings and name a resource
	Makes   bool  // it makes handles or variants, none of them from bytes

	Passes []string // types of outputs that are tensors which the graph stored earlier
	Plain  []string // types of outputs that are numbers and strings which the kernel makes
	Parses []string // types of outputs that are parsed from bytes of the model or a request
}

// Limited reports whether an operation is allowed only in some places.
func (r Row) Limited() bool {
	return len(r.Writes)+len(r.Refs)+len(r.Strings)+len(r.Plain)+len(r.Parses) > 0
}

// rows are the rows of the table, by operation.
var rows = sync.OnceValues(func() (map[string]Row, error) { return parse(text) })

// Of returns the row of an operation. ok is false for an operation without one.
func Of(op string) (Row, bool) {
	all, err := rows()
	if err != nil {
		return Row{}, false // the operation counts as unknown; TestTable reports the fault
	}
	r, ok := all[op]
	return r, ok
}

// parse reads the table.
func parse(table string) (map[string]Row, error) {
	all := map[string]Row{}
	for line := range strings.Lines(table) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		name := fields[0]
		if _, twice := all[name]; twice {
			return nil, fmt.Errorf("%s has two rows", name)
		}
		var r Row
		for _, f := range fields[1:] {
			if err := r.add(f); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if len(fields) == 1 {
			return nil, fmt.Errorf("%s has an empty row", name)
		}
		all[name] = r
	}
	return all, nil
}

// add adds one effect: "alias", "writes:0", "parses:dtype".
func (r *Row) add(effect string) error {
	kind, arg, _ := strings.Cut(effect, ":")
	flags := map[string]*bool{"pure": &r.Pure, "fresh": &r.Fresh, "alias": &r.Alias, "state": &r.State, "calls": &r.Calls, "prints": &r.Prints, "makes": &r.Makes}
	inputs := map[string]*[]int{"writes": &r.Writes, "ref": &r.Refs, "string": &r.Strings}
	attrs := map[string]*[]string{"passes": &r.Passes, "plain": &r.Plain, "parses": &r.Parses}
	switch {
	case flags[kind] != nil && arg == "":
		*flags[kind] = true
	case inputs[kind] != nil:
		i, err := strconv.Atoi(arg)
		if err != nil || i < 0 {
			return fmt.Errorf("effect %q names no input", effect)
		}
		*inputs[kind] = append(*inputs[kind], i)
	case attrs[kind] != nil && arg != "" && !slices.Contains(*attrs[kind], arg):
		*attrs[kind] = append(*attrs[kind], arg)
	default:
		return fmt.Errorf("there is no effect %q", effect)
	}
	return nil
}
