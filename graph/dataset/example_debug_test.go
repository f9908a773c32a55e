package dataset_test

import (
	"fmt"
	"os"
	"strings"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func ExampleWithDebugMode() {
	s := graph.NewScope()
	defer s.Graph().Close()
	s = dataset.WithDebugMode(s, &dataset.DebugOptions{Element: func(e *dataset.DebugElement) error {
		fmt.Println(e.Stage.Name, e.Number, e.Tensors[0].Value())
		return nil
	}})
	d := dataset.Range(s, 1, 5, 1).MapParallel("double", dataset.Autotune, func(s *graph.Scope, x []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Add(s, x[0], x[0])}
	}).Batch(2, false).Take(1)
	show[[]int64](d)
	// Output:
	// Range 0 1
	// MapParallel 0 2
	// Range 1 2
	// MapParallel 1 4
	// Batch 0 [2 4]
	// Take 0 [2 4]
	// [2 4]
}

func ExamplePrintElements() {
	s := graph.NewScope()
	defer s.Graph().Close()
	var lines strings.Builder
	s = dataset.WithDebugMode(s, &dataset.DebugOptions{Element: dataset.PrintElements(&lines)})
	show[map[string]any](dataset.FromColumns(s, map[string]any{"id": []int64{7}, "word": []string{"x"}}))
	place := strings.Index(lines.String(), " at ")
	fmt.Fprintln(os.Stdout, lines.String()[:place], "...", lines.String()[strings.Index(lines.String(), "["):])
	// Output:
	// map[id:7 word:x]
	// FromColumns ... [0] map[id:7 word:x]
}
