package serving_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"millrace/serving"
)

func ExampleServer() {
	ctx := context.Background()
	models := []serving.ModelConfig{{Name: "constant", BasePath: "../testdata/models/constant"}}
	server, err := serving.New(ctx, models, &serving.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	version, err := server.Acquire(serving.ModelSpec{Name: "constant"})
	if err != nil {
		log.Fatal(err)
	}
	defer version.Release()
	outputs, err := version.Predict(ctx, "", map[string]any{"x": []float32{1, 2}})
	if err != nil {
		log.Fatal(err)
	}
	defer outputs["y"].Close()
	fmt.Println(version.Number, outputs["y"].Value())
	// Output: 1 [3 5]
}
