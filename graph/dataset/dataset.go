package dataset

import (
	"fmt"
	"maps"

	"millrace"
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Autotune, as a degree of parallelism or a buffer size, leaves the choice to
// TensorFlow.
const Autotune = -1

// Dataset is a dataset in a graph. Its methods add further datasets to the same scope.
// A nil dataset has no scope; its methods, and those of the zero value, return datasets
// without components, whose sequences consist of one error of class millrace.ErrModel.
type Dataset struct {
	scope     *graph.Scope
	variant   tfbridge.Output
	specs     []graph.Spec
	structure *Structure  // how the components are nested; nil: a tensor, or a tuple of them
	remote    bool        // it reads from another device
	endless   bool        // it is known to have no end
	stage     *debugStage // set in debug mode only
}

// orNone returns d, or a dataset of no scope if it is nil.
func (d *Dataset) orNone() *Dataset {
	if d == nil {
		return &Dataset{}
	}
	return d
}

// FromVariant returns the dataset that a scalar variant tensor holds, such as a component
// of [Dataset.Window]. The caller must give the right specs of its components.
func FromVariant(s *graph.Scope, variant tfbridge.Output, specs []graph.Spec) *Dataset {
	return &Dataset{scope: s, variant: variant, specs: specs, stage: debugOf(s).stage()}
}

// Variant returns the tensor that holds the dataset.
func (d *Dataset) Variant() tfbridge.Output {
	d = d.orNone()
	return d.variant
}

// FromVariantOf returns the dataset that a scalar variant tensor holds. The caller must
// give the right structure of its elements.
func FromVariantOf(s *graph.Scope, variant tfbridge.Output, element *Structure) *Dataset {
	if err := element.check(); err != nil {
		s.UpdateErr("FromVariantOf", err)
		return &Dataset{scope: s}
	}
	return &Dataset{scope: s, variant: variant, specs: element.Specs(), structure: element, stage: debugOf(s).stage()}
}

// Spec returns the structure of the elements: after a failure, a tuple of tensors of
// unknown types and shapes.
func (d *Dataset) Spec() *Structure {
	d = d.orNone()
	if d.structure != nil {
		return d.structure
	}
	return structureOf(d.Specs())
}

// Specs returns the types and shapes of the components. After a failure it returns 1024
// zero Specs, so that programs may index them.
func (d *Dataset) Specs() []graph.Spec {
	d = d.orNone()
	if len(d.specs) == 0 && d.scope.Err() != nil {
		return unbuilt.Specs()
	}
	return d.specs
}

// Scope returns the scope that the dataset was made in.
func (d *Dataset) Scope() *graph.Scope {
	d = d.orNone()
	return d.scope
}

// In returns the same dataset with another scope, to which its methods then add. It may
// be a scope of the same graph, which gives other names, or of a function's body, which
// captures the dataset.
func (d *Dataset) In(s *graph.Scope) *Dataset {
	d = d.orNone()
	c := *d
	c.scope = s
	return &c
}

// attrs are the attributes of an operation.
type attrs map[string]any

// add adds a dataset operation. Nearly all have the attributes output_types
// and output_shapes; more are added to them.
func add(s *graph.Scope, opType string, specs []graph.Spec, more attrs, inputs ...tfbridge.Input) *Dataset {
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	all := attrs{"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs)}
	maps.Copy(all, more)
	return made(s, specs, s.Op1(opType, all, inputs...))
}

// made returns the dataset in a new operation's output.
func made(s *graph.Scope, specs []graph.Spec, variant tfbridge.Output) *Dataset {
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	return &Dataset{scope: s, variant: variant, specs: specs, stage: debugOf(s).stage()}
}

// then adds a dataset operation that has d as its first input.
func (d *Dataset) then(opType string, specs []graph.Spec, more attrs, inputs ...tfbridge.Input) *Dataset {
	return add(d.scope, opType, specs, more, append([]tfbridge.Input{d.read()}, inputs...)...)
}

// same adds a dataset operation whose elements are like those of d.
func (d *Dataset) same(opType string, more attrs, inputs ...tfbridge.Input) *Dataset {
	return d.then(opType, d.specs, more, inputs...).shapedAs(d)
}

// neverEnds marks d as a dataset without end if endless is true.
func (d *Dataset) neverEnds(endless bool) *Dataset {
	d.endless = endless
	return d
}

// shapedAs gives d the structure of another dataset with equal components.
func (d *Dataset) shapedAs(other *Dataset) *Dataset {
	if d.scope.Err() == nil {
		d.structure, d.remote = other.structure, other.remote
	}
	return d
}

// usable checks a dataset that is an argument: it must not be nil or a zero value, and a
// failure of its scope becomes one of s.
func usable(s *graph.Scope, what string, datasets ...*Dataset) bool {
	for i, d := range datasets {
		if d == nil || d.scope == nil {
			s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "dataset %d is nil", i))
			return false
		}
		s.UpdateErr(what, d.scope.Err())
	}
	return s.Err() == nil
}

// fail makes a new error the scope's failure and returns a dataset without components.
func (d *Dataset) fail(op, format string, args ...any) *Dataset {
	d.scope.UpdateErr(op, millrace.Errorf(millrace.ErrModel, format, args...))
	return &Dataset{scope: d.scope}
}

// determinism returns the value of the attribute of that name.
func determinism(sloppy bool) string {
	return fmt.Sprint(!sloppy)
}
