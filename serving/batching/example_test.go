package batching_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"millrace/graph"
	"millrace/serving/batching"
)

func ExampleBatcher() {
	model, err := graph.LoadModel("../../testdata/models/linear", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	batcher, err := batching.New(model, "", &batching.Options{MaxBatchSize: 64})
	if err != nil {
		log.Fatal(err)
	}
	defer batcher.Close()
	answers := make([]any, 3)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			row := []float32{float32(i), 0, 0}
			outputs, err := batcher.Predict(context.Background(), map[string]any{"x": [][]float32{row}})
			if err != nil {
				log.Fatal(err)
			}
			answers[i] = outputs["y"].Value()
			outputs["y"].Close()
		})
	}
	group.Wait()
	fmt.Println(answers...)
	// Output: [[0.5 -0.5]] [[1.5 -1.5]] [[2.5 -2.5]]
}
