package loaders_test

import (
	"context"
	"fmt"
	"log"
	"path/filepath"

	"millrace/loaders"
	"millrace/tfbridge"
)

// digits is the config of examples/digits that reads the held-back digits.
const digits = "../examples/digits/predict.json"

// Open a config, and read its batches until the data ends.
func ExampleOpen() {
	loader, err := loaders.Open(digits, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	rows := int64(0)
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		rows += batch.Rows()
	}
	fmt.Println(rows, "digits")
	// Output: 360 digits
}

// A batch holds tensors by name. Their values can be viewed without a copy
// until the next batch.
func ExampleLoader_Batches() {
	loader, err := loaders.Open(digits, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		labels, err := tfbridge.View[int64](batch.Tensor("label"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Names(), batch.Tensor("image").Shape(), labels[:5])
		break
	}
	// Output: [image label] [64 8 8] [5 7 6 5 7]
}

// A run can be resumed after a batch from the state that the batch carries, in another
// process as well.
func ExampleLoader_Run() {
	ctx := context.Background()
	seed := int64(7)
	loader, err := loaders.Open(digits, &loaders.Options{Check: &loaders.CheckOptions{Seed: &seed}})
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	var state []byte
	for batch, err := range loader.Run(ctx, &loaders.RunOptions{SaveEvery: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		if state = batch.State(); state != nil {
			break // after two batches
		}
	}
	rows := int64(0)
	for batch, err := range loader.Run(ctx, &loaders.RunOptions{State: state}) {
		if err != nil {
			log.Fatal(err)
		}
		rows += batch.Rows()
	}
	fmt.Println(rows, "digits are left")
	// Output: 232 digits are left
}

// Batches give the record of each row, if the options of the run ask for it.
func ExampleRunOptions_places() {
	loader, err := loaders.Open(digits, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Run(context.Background(), &loaders.RunOptions{Places: true}) {
		if err != nil {
			log.Fatal(err)
		}
		last := batch.Places()[batch.Rows()-1]
		fmt.Println(filepath.Base(last.File), last.Record)
		break
	}
	// Output: heldback-00000-of-00002.tfrecords 63
}
