package loaders

import (
	"millrace/graph"
	"millrace/loaders/build"
	"millrace/loaders/run"
	"millrace/tfbridge"
)

// Build adds a plan's dataset and an iterator over it to the graph of s.
// [Pipeline.Run] reads it in a session of that graph. The scan tells how many
// records to expect, so that a file that TensorFlow takes for a shorter one is
// an error.
func Build(s *graph.Scope, p *Plan, scan *Scan) (*Pipeline, error) {
	parts, err := build.Build(s, p, scan)
	if err != nil {
		return nil, err
	}
	return run.NewPipeline(parts), nil
}

// BuildProcessing adds the plan's processing of records to the graph of s, without
// files and batches; see [build.Process].
func BuildProcessing(s *graph.Scope, p *Plan, records tfbridge.Output) (*Processing, error) {
	return build.Process(s, p, records)
}

// MeasurePadding returns the plan with additional tensors, which hold how many elements
// padded tensors have without padding, and a sum to which the batches of that plan are
// added. It returns a plan without padding unchanged.
func MeasurePadding(p *Plan) (*Plan, *Waste) {
	p, tensors := p.MeasurePadding()
	return p, run.NewWaste(tensors)
}
