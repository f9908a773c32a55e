package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/tfbridge"
)

// One goroutine fills a queue while another empties it. Closing the queue ends the
// data.
func Example() {
	ctx := context.Background()
	s := graph.NewScope()
	defer s.Graph().Close()
	q := queue.NewFIFO(s, 2, []graph.Spec{{Name: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}, nil)
	enqueue, end := q.EnqueueMany(s, s.Const([]int64{1, 2, 3, 4, 5})), q.Close(s, false)
	batch := q.DequeueUpTo(s, s.Const(int32(2)))
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	filled := make(chan error)
	go func() {
		_, err := session.RunContext(ctx, nil, nil, []*tfbridge.Operation{enqueue})
		if err == nil {
			_, err = session.RunContext(ctx, nil, nil, []*tfbridge.Operation{end})
		}
		filled <- err
	}()
	for {
		out, err := session.RunContext(ctx, nil, batch, nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(out[0].Value())
		out[0].Close()
	}
	if err := <-filled; err != nil {
		log.Fatal(err)
	}
	// Output:
	// [1 2]
	// [3 4]
	// [5]
}

// A staging area prefetches one batch for the model.
func ExampleNewStagingArea() {
	ctx := context.Background()
	s := graph.NewScope()
	defer s.Graph().Close()
	area := queue.NewStagingArea(s, []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}, &queue.StagingOptions{Capacity: 1})
	put, get := area.Put(s, s.Const("a batch")), area.Get(s)
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.RunContext(ctx, nil, nil, []*tfbridge.Operation{put}); err != nil {
		log.Fatal(err)
	}
	out, err := session.RunContext(ctx, nil, get, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	fmt.Println(out[0].Value())
	// Output: a batch
}
