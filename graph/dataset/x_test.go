package dataset_test

import (
	"fmt"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
)

func TestX(t *testing.T) {
	for i := range 3 {
		s := newScope(t)
		o := &dataset.ShuffleOptions{Seed: 1, Seed2: 2}
		_ = i
		d := dataset.Range(s, 0, 6, 1).Shuffle(10, o)
		fmt.Println("twice", all(t, d.Repeat(3).Batch(6, false)))
		fmt.Println("opt  ", all(t, d.Repeat(3).Batch(6, false).WithOptions(&dataset.Options{NoOptimization: true})))
		fmt.Println("fin  ", all(t, d.Repeat(3).Batch(6, false).WithOptions(nil).Finalize()))
		fmt.Println("zip  ", all(t, dataset.Zip(s, d, dataset.Range(s, 0, 6, 1).Shuffle(10, o)).Batch(6, false)))
		fmt.Println("zip same ", all(t, dataset.Zip(s, d, d).Batch(6, false)))
		fmt.Println("flat ", all(t, dataset.Range(s, 0, 3, 1).FlatMap("f", func(s *graph.Scope, a outs) *dataset.Dataset {
			return dataset.Range(s, 0, 6, 1).Shuffle(10, o)
		}).Batch(6, false)))
	}
}
