package lookup_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/lookup"
	"millrace/tfbridge"
)

func Example() {
	s := graph.NewScope()
	defer s.Graph().Close()
	words := lookup.KeyValueTensorInitializer(s.Const([]string{"mill", "race"}), s.Const([]int64{0, 1}))
	table := lookup.NewStaticVocabularyTable(s, words, 1)
	ids := dataset.FromSlices(s, s.Const([]string{"race", "sea", "mill"})).
		Map("ids", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{table.Lookup(s, args[0])}
		}, nil)
	for id, err := range dataset.Iterate[int64](context.Background(), ids, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	// Output:
	// 1
	// 2
	// 0
}

func ExampleNewStaticHashTable() {
	s := graph.NewScope()
	defer s.Graph().Close()
	lines := lookup.TextFileInitializer(s.Const("testdata/vocab.txt"),
		lookup.Column{DType: tfbridge.Int64, Index: lookup.LineNumber},
		lookup.Column{DType: tfbridge.String, Index: lookup.WholeLine}, nil)
	table := lookup.NewStaticHashTable(s, lines, s.Const("?"))
	words, err := graph.NewTensor(s, table.Lookup(s, s.Const([]int64{3, 0, 9}))).Eval(context.Background(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer words.Close()
	fmt.Println(words.Value())
	// Output: [water mill ?]
}
