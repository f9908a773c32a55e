package train_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"millrace/graph"
	"millrace/graph/tf1/reader"
	"millrace/graph/tf1/train"
	"millrace/tfbridge"
)

// Read the lines of files, and batch them.
func ExampleBatch() {
	dir, err := os.MkdirTemp("", "lines")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "lines.txt")
	if err := os.WriteFile(path, []byte("a\nb\nc\nd\ne\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	s := graph.NewScope()
	defer s.Graph().Close()
	files := train.StringInputProducer(s, s.Const([]string{path}), &train.ProducerOptions{NumEpochs: 1})
	_, line := reader.NewTextLine(s, nil).Read(s, files)
	batch := train.Batch(s, train.Tensors{Dense: []tfbridge.Output{line}}, 2, &train.BatchOptions{
		EnqueueOptions: train.EnqueueOptions{AllowSmallerFinalBatch: true},
	})
	ctx := context.Background()
	m, err := train.NewMonitoredSession(ctx, s, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for step, err := range m.Steps(ctx, batch.Dense, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(step[0].Value())
	}
	// Output:
	// [a b]
	// [c d]
	// [e]
}

// A program with its own session takes the steps of TensorFlow's guide itself.
func ExampleStartQueueRunners() {
	s := graph.NewScope()
	defer s.Graph().Close()
	numbers := train.RangeInputProducer(s, s.Const(int32(3)), &train.ProducerOptions{NumEpochs: 2, InOrder: true})
	number := numbers.Dequeue(s)
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Run(nil, nil, s.Initializers()); err != nil {
		log.Fatal(err)
	}
	coord := train.NewCoordinator(context.Background(), nil)
	if err := train.StartQueueRunners(coord, session, s); err != nil {
		log.Fatal(err)
	}
	for !coord.ShouldStop() {
		values, err := session.Run(nil, number, nil)
		if err != nil {
			coord.RequestStop(err) // the end of the data is a clean stop
			break
		}
		fmt.Print(values[0].Value(), " ")
		values[0].Close()
	}
	fmt.Println(coord.Join())
	// Output: 0 1 2 0 1 2 <nil>
}
