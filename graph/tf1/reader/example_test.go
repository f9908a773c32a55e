package reader_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
)

// A reader of lines goes through the files that a queue names.
func Example() {
	ctx := context.Background()
	s := graph.NewScope()
	defer s.Graph().Close()
	files := queue.NewFIFO(s, 32, []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}, nil)
	enqueue, end := files.Enqueue(s, s.Const("testdata/lines.txt")), files.Close(s, false)
	key, line := reader.NewTextLine(s, &reader.TextLineOptions{SkipHeaderLines: 1}).Read(s, files)
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, op := range []*tfbridge.Operation{enqueue, end} {
		if _, err := session.RunContext(ctx, nil, nil, []*tfbridge.Operation{op}); err != nil {
			log.Fatal(err)
		}
	}
	for {
		out, err := session.RunContext(ctx, nil, []tfbridge.Output{key, line}, nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filepath.Base(out[0].Value().(string)), out[1].Value())
		out[0].Close()
		out[1].Close()
	}
	// Output:
	// lines.txt:2 7,mill
	// lines.txt:3 8,race
}
