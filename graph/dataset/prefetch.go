package dataset

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// Prefetch reads up to n elements ahead in the background. n may be [Autotune]; 0 means
// no prefetching.
func (d *Dataset) Prefetch(n int64) *Dataset {
	d = d.orNone()
	if n == 0 || debugOf(d.scope) != nil {
		return d
	}
	return d.same("PrefetchDataset", nil, d.scope.Const(n)).neverEnds(d.endless)
}

// PrefetchOutput is [Dataset.Prefetch] with a number, an int64 scalar, that is an
// output of the graph, such as a placeholder. With 0, elements are read on request, in
// the requesting thread.
func (d *Dataset) PrefetchOutput(n tfbridge.Output) *Dataset {
	d = d.orNone()
	if debugOf(d.scope) != nil {
		return d
	}
	return d.same("PrefetchDataset", nil, n).neverEnds(d.endless)
}

// CopyToDevice copies the elements to a device, such as "/gpu:0" or "/cpu:1", while d
// itself stays on the first processor. Operations on that device then need not copy
// them. Only [Dataset.Prefetch] and the iterator may follow, on the same device. Its
// iterators cannot be saved. It wraps GeneratorDataset and RemoteCall.
func (d *Dataset) CopyToDevice(device string) *Dataset {
	d = d.orNone()
	s := d.scope
	if device == "" {
		return d.fail("Dataset.CopyToDevice", "the device has no name")
	}
	c := &deviceCopy{d: d, of: map[string]any{"output_types": graph.DTypes(d.specs), "output_shapes": graph.Shapes(d.specs)}}
	first, next, last := c.functions()
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	on := d.In(s.WithDevice(device))
	copied := add(on.scope, "GeneratorDataset", d.specs, attrs{
		"init_func": first.Attr(), "next_func": next.Attr(), "finalize_func": last.Attr(),
	}, first.Inputs(), next.Inputs(), last.Inputs()).shapedAs(d)
	copied.remote = true
	return copied
}

// PrefetchToDevice reads up to n elements ahead to a device, in the background:
// [Dataset.CopyToDevice] and then [Dataset.Prefetch] there. It must come last. Where
// the device is the processor that d runs on, for example "/cpu:0", it is the same as
// Prefetch, and its iterators can be saved. It wraps PrefetchDataset.
func (d *Dataset) PrefetchToDevice(device string, n int64) *Dataset {
	d = d.orNone()
	if device == "" {
		return d.fail("Dataset.PrefetchToDevice", "the device has no name")
	}
	if onHost(device) {
		return d.Prefetch(n)
	}
	return d.CopyToDevice(device).Prefetch(n)
}

// onHost reports whether a device is the first processor.
func onHost(device string) bool {
	switch device {
	case "/cpu:0", "/CPU:0", "/device:CPU:0", "CPU:0", "cpu:0", "/cpu", "cpu":
		return true
	}
	return false
}

// deviceCopy makes the functions that read a dataset from another device.
type deviceCopy struct {
	d  *Dataset
	of map[string]any // attributes with the types and shapes of the elements
}

// host is the device that datasets run on.
const host = "/job:localhost/replica:0/task:0/device:CPU:0"

// functions returns the functions that begin, continue and end an iteration.
func (c *deviceCopy) functions() (first, next, last *graph.Func) {
	s := c.d.scope
	handle := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	wrapped := s.Op1("WrapDatasetVariant", nil, c.d.variant)
	first = remote(s, "copy_init", nil, []tfbridge.Output{wrapped}, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		variant := s.Op1("UnwrapDatasetVariant", nil, args[0])
		resource := s.Op1("AnonymousIterator", c.of)
		made := s.AddOperation(tfbridge.OpSpec{Type: "MakeIterator", Input: []tfbridge.Input{variant, resource}})
		return s.WithControlDependencies(made).Op("IteratorToStringHandle", nil, resource)
	})
	next = remote(s, "copy_next", handle, nil, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		resource := s.Op1("IteratorFromStringHandleV2", c.of, args[0])
		return s.Op("IteratorGetNext", c.of, resource)
	})
	last = remote(s, "copy_end", handle, nil, func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		resource := s.Op1("IteratorFromStringHandleV2", c.of, args[0])
		s.AddOperation(tfbridge.OpSpec{
			Type: "DestroyResourceOp", Input: []tfbridge.Input{resource}, Attrs: map[string]any{"ignore_lookup_error": true},
		})
		return []tfbridge.Output{s.Const(int64(0))}
	})
	return first, next, last
}

// remote makes a function of arguments and captures that runs on the host,
// wherever it is called from.
func remote(s *graph.Scope, name string, in []graph.Spec, captures []tfbridge.Output, fn MapFunc) *graph.Func {
	inner := append(append([]graph.Spec{}, in...), graph.SpecsOf(captures)...)
	f := s.Func(name, inner, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output { return fn(s, args) })
	return s.Func(name+"_remote", in, captures, func(s *graph.Scope, args, captured []tfbridge.Output) []tfbridge.Output {
		return s.Op("RemoteCall", map[string]any{"Tout": graph.DTypes(f.Out), "f": f.Attr()},
			s.Const(host), tfbridge.OutputList(append(append([]tfbridge.Output{}, args...), captured...)))
	})
}
