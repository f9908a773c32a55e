package process

import (
	"fmt"
	"maps"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// # How examples are filtered
//
// The question: a filter stands between steps. The steps before it make what it looks at, and the
// steps after it must not see the examples that it does not keep: they may fail on them. A
// function of tf.data makes one element of one element, so it cannot do all of that.
//
// The answer has two forms. Where examples are records of one size, and all steps work on batches,
// a function gets a group of examples. A filter takes rows out of all tensors of the group, the
// next steps see the other rows, and the groups that come out are cut into batches. Elsewhere the
// stages are cut into pieces at each filter:
//
//	map            filter        map                filter        map
//	parse, steps   conditions    the next steps     conditions    the last steps
//
// A piece gives all tensors that there are then to the next one, in the order of their names.
//
// Each example carries its number among those that the first filter sees. The numbers that arrive
// say how many examples were filtered, and where a run continues from a state.

// The names of values that are no tensors of the plan; no tensor can have them.
const (
	Number   = "\x00number"   // the number among the examples that the filter sees
	Epoch    = "\x00epoch"    // see [Processor.Drawn]
	Position = "\x00position" // see [Processor.Drawn]
)

// BeginFunc makes the decoded features of an element, and what comes with them.
type BeginFunc func(s *graph.Scope, args []tfbridge.Output) (*graph.Scope, []tfbridge.Output, map[string]tfbridge.Output)

// Filter carries out the stages on examples one by one, and keeps those that all filters keep.
func (p *Processor) Filter(d *dataset.Dataset, begin BeginFunc, o *dataset.MapOptions) *dataset.Dataset {
	var names []string
	pieces := p.pieces()
	for i, piece := range pieces {
		before, last := names, i == len(pieces)-1
		d = d.Map(fmt.Sprint("piece_", i), func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			values := map[string]tfbridge.Output{}
			if i > 0 {
				values = valuesOf(before, args)
			} else {
				var decoded []tfbridge.Output
				var given map[string]tfbridge.Output
				if s, decoded, given = begin(s, args); len(decoded) != len(p.Parse.Features) {
					return nil // the scope holds the failure
				}
				for _, primary := range p.Parse.Primaries {
					values[primary.To] = graph.Identity(s, decoded[p.Parse.IndexOf(primary.To)])
				}
				maps.Copy(values, given)
			}
			if epoch, ok := values[Epoch]; ok {
				s = p.Drawn(s, epoch, values[Position])
			}
			for _, x := range piece.stages {
				roomOf(p, x).dense(s, values, 0)
			}
			if last {
				return p.outputs(values)
			}
			names = slices.Sorted(maps.Keys(values))
			out := make([]tfbridge.Output, len(names))
			for k, name := range names {
				out[k] = values[name]
			}
			return out
		}, o)
		if !last {
			d = p.keep(d, piece.filter, names)
		}
	}
	return d
}

// keep keeps the examples that a filter keeps.
func (p *Processor) keep(d *dataset.Dataset, filter stage.Step, names []string) *dataset.Dataset {
	return d.Filter(fmt.Sprint("filter_", filter.Index), func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return step{filter, p.Target}.keep(s, valuesOf(names, args), 0)
	})
}

// valuesOf names the components of an element.
func valuesOf(names []string, args []tfbridge.Output) map[string]tfbridge.Output {
	values := make(map[string]tfbridge.Output, len(args))
	for i, x := range args {
		values[names[i]] = x
	}
	return values
}

// piece is a part of the stages, and the filter that follows it.
type piece struct {
	stages []stage.Stage
	filter stage.Step // zero after the last piece
}

// pieces cuts the stages at the filters.
func (p *Processor) pieces() []piece {
	list := []piece{{}}
	for _, x := range p.Stages {
		last := &list[len(list)-1]
		if s, ok := x.(stage.Step); ok && s.Filters() {
			last.filter = s
			list = append(list, piece{})
		} else if Builds(x) {
			last.stages = append(last.stages, x)
		}
	}
	return list
}
