package estimator_test

import (
	"context"
	"fmt"
	"log"

	"millrace/estimator"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders"
	"millrace/tfbridge"
)

// A loaded model says what its signatures take and give.
func ExampleLoadModel() {
	model, err := estimator.LoadModel("../examples/digits/model", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	signature, err := model.Signature(estimator.DefaultSignature)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range signature.Inputs {
		fmt.Println("takes", t.Name, t.DType, t.Shape)
	}
	for _, t := range signature.Outputs {
		fmt.Println("gives", t.Name, t.DType, t.Shape)
	}
	// Output:
	// takes image float32 [?, 8, 8]
	// gives digit int64 [?]
	// gives probabilities float32 [?, 10]
}

// Predict runs a model over a loader, in one graph. The model does not take the labels;
// they are kept with its outputs.
func ExampleModel_Predict() {
	model, err := estimator.LoadModel("../examples/digits/model", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	names, err := model.Names(estimator.DefaultSignature)
	if err != nil {
		log.Fatal(err)
	}
	keep := []string{"label"}
	loader, err := loaders.Open("../examples/digits/predict.json", &loaders.Options{
		Check: &loaders.CheckOptions{Model: names, Keep: keep},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	right, all := 0, 0
	for batch, err := range model.Predict(context.Background(), loader, &estimator.PredictOptions{Keep: keep}) {
		if err != nil {
			log.Fatal(err)
		}
		digits, err := tfbridge.View[int64](batch.Tensor("digit"))
		if err != nil {
			log.Fatal(err)
		}
		labels, err := tfbridge.View[int64](batch.Tensor("label"))
		if err != nil {
			log.Fatal(err)
		}
		for i := range labels {
			all++
			if digits[i] == labels[i] {
				right++
			}
		}
	}
	fmt.Printf("%d of %d\n", right, all)
	// Output: 356 of 360
}

// A dataset written in Go feeds a model: here every image is black.
func ExampleFromDataset() {
	model, err := estimator.LoadModel("../examples/digits/model", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	black := estimator.FromDataset(func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 5, 1).
			Map("black", func(s *graph.Scope, _ []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{s.Const([8][8]float32{})}
			}, nil).
			Batch(2, false)
	}, "image")
	for batch, err := range model.Predict(context.Background(), black, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Tensor("digit").Shape())
	}
	// Output:
	// [2]
	// [2]
	// [1]
}

// A pipeline is joined once and run as often as wanted; several of them share
// the variables of the model.
func ExampleModel_Join() {
	ctx := context.Background()
	model, err := estimator.LoadModel("../testdata/models/constant", nil) // y = 2x + 1
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	values := estimator.FromValues(
		map[string]graph.Spec{"x": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)}},
		func(yield func(map[string]any, error) bool) {
			_ = yield(map[string]any{"x": []float32{1, 2}}, nil) && yield(map[string]any{"x": []float32{3}}, nil)
		})
	pipe, err := model.Join(ctx, values, nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		for batch, err := range pipe.Run(ctx, nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(batch.Tensor("y").Value())
		}
	}
	// Output:
	// [3 5]
	// [7]
	// [3 5]
	// [7]
}
