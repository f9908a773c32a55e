package stage_test

import (
	"fmt"

	"millrace/dtype"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

func ExampleOf() {
	id := &spec.Feature{Name: "id", Kind: spec.Int, DType: dtype.Int64, Shape: []int64{}}
	s := &spec.Spec{
		Manifest: &spec.Manifest{}, Files: make([]spec.DataFile, 2), Features: []*spec.Feature{id},
		Primaries: []spec.Primary{{From: id, To: "id"}}, Tensors: []spec.TensorSpec{{Name: "id", DType: dtype.Int64}},
		ParallelReads: 1, ParallelParses: 1, Epochs: 3, BatchSize: 32, Prefetch: 1,
		Shuffle: &spec.Shuffle{Elements: 1000, Filenames: 2, MixFiles: 2},
	}
	for _, stage := range stage.Explain(stage.Of(engine.Choice{Spec: s})) {
		fmt.Println(stage.Name+":", stage.What)
	}
	// Output:
	// files: 2 files, names shuffled in a buffer of 2
	// read: 2 files in turns, one record at a time, without a buffer
	// parse: 1 feature
	// shuffle: records in a buffer of 1,000
	// repeat: 3 epochs
	// batch: 32 examples, the last may have fewer
	// prefetch: 1 batch
}
