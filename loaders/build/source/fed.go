package source

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/tfbridge"
)

// GoScan is a dataset whose elements a Go function makes; see package feed. The function
// gets the arguments Before, a token, a number and the arguments After. It returns the next
// token, the next number and Results. The element before the first one without Results ends
// the dataset.
type GoScan struct {
	Name    string
	Any     string // name of the function that looks for the end
	Fn      feed.Func
	Begin   tfbridge.Output // the first number
	Before  []tfbridge.Output
	After   []tfbridge.Output
	Results []graph.Spec
	Counted int // index in Results of the vector that is empty at the end
}

// Build adds the dataset to the graph of s.
func (g GoScan) Build(s *graph.Scope) *dataset.Dataset {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := append([]graph.Spec{scalar, scalar}, g.Results...)
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan(g.Name, []tfbridge.Output{s.Const(int64(0)), g.Begin}, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		args := append(append(append([]tfbridge.Output{}, g.Before...), state...), g.After...)
		out := graph.GoFunction(s, graph.GoFunc{Name: g.Name, Out: results, Fn: g.Fn, Pure: true}, args...)
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	return d.TakeWhile(g.Any, func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[g.Counted]), s.Const(int64(0)))
	})
}

// fedRecords returns the records of the file with a number in the list, an int64 scalar.
func (r *Records) fedRecords(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	return r.FedVectors(s, ordinal).Unbatch()
}

// FedVectors returns the records of a file as vectors, as many in each as fit the read
// buffer.
func (r *Records) FedVectors(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	return GoScan{
		Name: "read_records", Any: "any_records", Fn: feed.Files(r.Feed()), Begin: s.Const(int64(0)), Before: []tfbridge.Output{ordinal},
		Results: []graph.Spec{StringVector},
	}.Build(s)
}
