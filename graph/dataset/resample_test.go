package dataset_test

import (
	"fmt"
	"testing"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// tenth is a class function that assigns nine in ten numbers to class 0.
func tenth(s *graph.Scope, args outs) out {
	return graph.Cast(s, graph.Equal(s, graph.FloorMod(s, args[0], s.Const(int64(10))), s.Const(int64(0))), tfbridge.Int64)
}

func TestRejectionResample(t *testing.T) {
	for name, o := range map[string]*dataset.ResampleOptions{
		"known": {Initial: []float64{9, 1}, Seed: 1}, "counted": {Seed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			d := dataset.Range(s, 0, 5000, 1).RejectionResample("r", tenth, []float64{0.5, 0.5}, o)
			counts := [2]int{}
			last := int64(-1)
			for _, e := range collect[struct{ Class, Number int64 }](t, d) {
				if e.Number <= last || (e.Number%10 == 0) != (e.Class == 1) {
					t.Fatalf("element %v after %d", e, last)
				}
				last = e.Number
				counts[e.Class]++
			}
			// Each class should have 500 elements, within four standard deviations of
			// the draw.
			if counts[1] < 490 || counts[1] > 500 || counts[0] < 410 || counts[0] > 590 {
				t.Errorf("%d of class 0, %d of class 1", counts[0], counts[1])
			}
		})
	}
}

func ExampleDataset_RejectionResample() {
	s := graph.NewScope()
	defer s.Graph().Close()
	d := dataset.FromRows(s, []string{"a", "b", "a", "a"}).RejectionResample("class",
		func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
			return graph.Cast(s, graph.Equal(s, args[0], s.Const("b")), tfbridge.Int64)
		}, []float64{0, 1}, nil) // the target has no elements of class 0
	show[struct {
		Class int
		Text  string
	}](d)
	// Output: {1 b}
}

func ExampleDataset_Fingerprint() {
	s := graph.NewScope()
	defer s.Graph().Close()
	prints := fetch(s, dataset.Range(s, 0, 3, 1).Fingerprint(), dataset.Range(s, 0, 3, 1).Fingerprint(), dataset.Range(s, 0, 4, 1).Fingerprint())
	fmt.Println(prints[0] == prints[1], prints[0] == prints[2])
	// Output: true false
}
