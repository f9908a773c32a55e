package ops

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/opstamp"
	"millrace/internal/base/tfproto"
	"millrace/internal/tool/opgen"
	"millrace/tfbridge"
)

// Info describes a library of operations.
type Info struct {
	Path       string      `json:"path"`
	TensorFlow string      `json:"tensorflow,omitempty"` // the version that it was built for, if known
	Operations []Operation `json:"operations"`           // in order of their names
}

// Operation is an operation that a library registers.
type Operation struct {
	Name       string     `json:"name"`
	Summary    string     `json:"summary,omitempty"`
	Inputs     []Argument `json:"inputs"`
	Outputs    []Argument `json:"outputs"`
	Attributes []Attr     `json:"attributes"`
	Stateful   bool       `json:"stateful"` // it must not be shared, omitted or evaluated while a graph is rewritten
	Kernels    []Kernel   `json:"kernels"`  // empty: the operation cannot run
}

// Argument is an input or output.
type Argument struct {
	Name string `json:"name"`
	Type string `json:"type"` // "float32", or the name of an attribute
}

// Attr is an attribute.
type Attr struct {
	Name    string `json:"name"`
	Type    string `json:"type"`              // as in the definition: "list(int)"
	Values  string `json:"values,omitempty"`  // allowed values
	Default string `json:"default,omitempty"` // "": it must be given, or follows from the inputs
}

// Kernel is an implementation.
type Kernel struct {
	Device      string   `json:"device"`                // "CPU"
	Label       string   `json:"label,omitempty"`       // a kernel with a label runs only if the attribute _kernel selects it
	Constraints []string `json:"constraints,omitempty"` // "T is float32 or float64"
}

// Describe loads a library and describes it. Loading runs the library's code.
func Describe(path string) (*Info, error) {
	library, err := tfbridge.LoadLibrary(path)
	if err != nil {
		return nil, err
	}
	var list tfproto.OpList
	if err := proto.Unmarshal(library.OpList, &list); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the list of operations: %w", err)
	}
	info := &Info{Path: path, Operations: []Operation{}}
	if stamp, ok, err := opstamp.Read(path); err == nil && ok {
		info.TensorFlow = stamp.TensorFlow
	}
	slices.SortFunc(list.Op, func(a, b *tfproto.OpDef) int { return strings.Compare(a.Name, b.Name) })
	for _, def := range list.Op {
		op := describe(def)
		if op.Kernels, err = kernels(def.Name); err != nil {
			return nil, err
		}
		info.Operations = append(info.Operations, op)
	}
	return info, nil
}

// describe converts an operation's definition.
func describe(def *tfproto.OpDef) Operation {
	op := Operation{
		Name: def.Name, Summary: strings.TrimSpace(def.Summary), Stateful: def.IsStateful,
		Inputs: arguments(def.InputArg), Outputs: arguments(def.OutputArg), Attributes: []Attr{},
	}
	for _, a := range def.Attr {
		attr := Attr{Name: a.Name, Type: a.Type, Values: opgen.AttrValues(a)}
		if a.DefaultValue != nil {
			attr.Default = opgen.Value(a.DefaultValue)
		}
		op.Attributes = append(op.Attributes, attr)
	}
	return op
}

func arguments(defs []*tfproto.OpDef_ArgDef) []Argument {
	list := []Argument{}
	for _, d := range defs {
		list = append(list, Argument{Name: d.Name, Type: opgen.ArgType(d)})
	}
	return list
}

// kernels returns the kernels of an operation.
func kernels(op string) ([]Kernel, error) {
	text, err := tfbridge.RegisteredKernels(op)
	if err != nil {
		return nil, err
	}
	var list tfproto.KernelList
	if err := proto.Unmarshal(text, &list); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "read the list of kernels: %w", err)
	}
	found := []Kernel{}
	for _, k := range list.Kernel {
		kernel := Kernel{Device: k.DeviceType, Label: k.Label}
		for _, c := range k.Constraint {
			kernel.Constraints = append(kernel.Constraints, c.Name+" is in "+opgen.Value(c.AllowedValues))
		}
		found = append(found, kernel)
	}
	return found, nil
}

// Signature returns the operation as a line: its inputs and outputs.
func (o *Operation) Signature() string {
	join := func(args []Argument) string {
		words := make([]string, len(args))
		for i, a := range args {
			words[i] = a.Name + ": " + a.Type
		}
		return strings.Join(words, ", ")
	}
	text := fmt.Sprintf("%s(%s)", o.Name, join(o.Inputs))
	if len(o.Outputs) > 0 {
		text += " -> " + join(o.Outputs)
	}
	return text
}
