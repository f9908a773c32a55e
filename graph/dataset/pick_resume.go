package dataset

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// untilAllEnd interleaves datasets as endless choices say, until all datasets
// have ended. DirectedInterleaveDataset does so by itself, but its saved state
// does not hold which inputs have ended: a restored one would look for more
// elements for ever. Here its inputs never end: after its own elements each
// gives empty optionals, and a scan's state holds which inputs have come to them.
func untilAllEnd(s *graph.Scope, choices *Dataset, datasets []*Dataset) *Dataset {
	tree := alike(s, "Sample", datasets)
	if s.Err() != nil {
		return &Dataset{scope: s}
	}
	endless := make([]*Dataset, len(datasets))
	for i, d := range datasets {
		endless[i] = d.In(s).optional(int64(i))
	}
	all := directed(s, "Sample", choices, endless, true)
	n := len(datasets)
	ended := []tfbridge.Output{s.Const(make([]bool, n))}
	marked := all.Scan("ended", ended, func(s *graph.Scope, state, args []tfbridge.Output) (next, components []tfbridge.Output) {
		empty := s.Op1("LogicalNot", nil, s.Op1("OptionalHasValue", nil, args[1]))
		here := graph.Equal(s, graph.Range(s, s.Const(int64(0)), s.Const(int64(n)), s.Const(int64(1))), args[0])
		now := s.Op1("LogicalOr", nil, state[0], s.Op1("LogicalAnd", nil, here, empty))
		now = graph.EnsureShape(s, now, tfbridge.MakeShape(int64(n)))
		some := s.Op1("LogicalNot", nil, s.Op1("All", nil, now, s.Const([]int32{0})))
		return []tfbridge.Output{now}, []tfbridge.Output{some, args[1]}
	})
	return marked.
		TakeWhile("some", func(_ *graph.Scope, args []tfbridge.Output) tfbridge.Output { return args[0] }).
		Filter("element", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return s.Op1("OptionalHasValue", nil, args[1])
		}).
		Map("value", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			specs := tree.Specs()
			return s.Op("OptionalGetValue", map[string]any{
				"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs),
			}, args[1])
		}, &MapOptions{Inline: true}).as(tree)
}

// optional returns i and each element as an optional, then for ever i and an
// empty one.
func (d *Dataset) optional(i int64) *Dataset {
	values := d.Map("optional", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{s.Const(i), s.Op1("OptionalFromValue", nil, tfbridge.OutputList(args))}
	}, &MapOptions{Inline: true})
	none := FromTensors(d.scope, d.scope.Const(i)).Map("none", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{args[0], s.Op1("OptionalNone", nil)}
	}, nil).Repeat(-1)
	return values.Concatenate(none)
}
