package dataset_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func ExampleDenseSpec() {
	fmt.Println(dataset.DenseSpec(tfbridge.Float, tfbridge.MakeShape(-1, 3)))
	// Output: float32[?, 3]
}

func ExampleSparseSpec() {
	fmt.Println(dataset.SparseSpec(tfbridge.Float, tfbridge.MakeShape(-1, 3)))
	// Output: sparse float32[?, 3]
}

func ExampleRaggedSpec() {
	fmt.Println(dataset.RaggedSpec(tfbridge.String, tfbridge.MakeShape(2, -1), 1))
	// Output: ragged string[2, ?]
}

func ExampleTupleSpec() {
	number := dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	fmt.Println(dataset.TupleSpec(number, number))
	// Output: (int64[], int64[])
}

func ExampleFieldsSpec() {
	number := dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	fmt.Println(dataset.FieldsSpec(map[string]*dataset.Structure{"y": number, "x": number}))
	// Output: {x: int64[], y: int64[]}
}

func ExampleDatasetSpec() {
	fmt.Println(dataset.DatasetSpec(dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())))
	// Output: dataset int64[]
}

func ExampleStructure_Leaves() {
	number := dataset.DenseSpec(tfbridge.Int64, tfbridge.ScalarShape())
	fmt.Println(dataset.TupleSpec(number, dataset.TupleSpec(number, number)).Leaves())
	// Output: [int64[] int64[] int64[]]
}

func ExampleStructure_Specs() {
	fmt.Println(dataset.SparseSpec(tfbridge.Float, tfbridge.MakeShape(3)).Specs())
	// Output: [variant[...]]
}

func ExampleStructure_String() {
	fmt.Println(dataset.TupleSpec().String())
	// Output: ()
}

func ExampleParsedOrder() {
	fmt.Println(dataset.ParsedOrder(&graph.ExampleFeatures{
		Dense:  []graph.DenseFeature{{Key: "b"}, {Key: "a"}},
		Sparse: []graph.SparseFeature{{Key: "c"}},
	}))
	// Output: [a b c]
}

// An iterator can also run in the caller's own session, together with other operations.
func ExampleDataset_Iterator() {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := dataset.Range(s, 3, 5, 1).Iterator("numbers")
	double := graph.Add(s, it.Element[0], it.Element[0])
	g, err := s.Finalize()
	if err != nil {
		log.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		got, err := sess.Run(nil, []tfbridge.Output{double}, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(got[0].Value())
		got[0].Close()
	}
	// Output:
	// 6
	// 8
}

func ExampleIterator_SaveState() {
	s := graph.NewScope()
	defer s.Graph().Close()
	it := dataset.Range(s, 0, 5, 1).Iterator("numbers")
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close()
	run := func(fetches []tfbridge.Output, targets ...*tfbridge.Operation) {
		got, err := sess.Run(nil, fetches, targets)
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range got {
			fmt.Println(t.Value())
			t.Close()
		}
	}
	run(nil, it.Init)
	run(it.Element)
	state, err := it.SaveState(context.Background(), sess)
	if err != nil {
		log.Fatal(err)
	}
	run(it.Element)
	run(nil, it.Init)
	if err := it.RestoreState(context.Background(), sess, state); err != nil {
		log.Fatal(err)
	}
	run(it.NextInline()) // returns 1 again
	// Output:
	// 0
	// 1
	// 1
}
