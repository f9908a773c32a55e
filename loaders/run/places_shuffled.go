package run

import (
	"context"
	"slices"

	"millrace/loaders/build"
	"millrace/tfbridge"
)

// shuffledRows are rows of examples that tf.data shuffles in buffers. Their positions are
// those in the order of the files.
type shuffledRows struct {
	graph   *tfbridge.Graph
	session *tfbridge.Session
	next    *tfbridge.Callable
	numbers []int64 // numbers of the next rows
}

// newShuffledRows returns the positions of the rows from the given one on.
func newShuffledRows(pl *Pipeline, row int64) (r *shuffledRows, err error) {
	r = &shuffledRows{graph: tfbridge.NewGraph()}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	numbers, err := build.NewNumbers(r.graph, pl.Plan, pl.Scan)
	if err != nil {
		return nil, err
	}
	if r.session, err = tfbridge.NewSession(r.graph, &tfbridge.SessionOptions{InterOpThreads: -1}); err != nil {
		return nil, err
	}
	skip, err := tfbridge.NewTensor(row)
	if err != nil {
		return nil, err
	}
	defer skip.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{numbers.Skip: skip}
	if _, err := r.session.RunContext(context.Background(), feeds, nil, []*tfbridge.Operation{numbers.Init}); err != nil {
		return nil, err
	}
	r.next, err = r.session.Prepare(nil, []tfbridge.Output{numbers.Next}, nil)
	return r, err
}

// of ignores the row, which is the next one.
func (r *shuffledRows) of(int64) (int64, error) {
	if len(r.numbers) == 0 {
		out, err := r.next.Run(context.Background(), nil)
		if err != nil {
			return 0, err
		}
		defer out[0].Close()
		numbers, err := tfbridge.View[int64](out[0])
		if err != nil {
			return 0, err
		}
		r.numbers = slices.Clone(numbers)
	}
	number := r.numbers[0]
	r.numbers = r.numbers[1:]
	return number, nil
}

func (r *shuffledRows) close() {
	if r.session != nil {
		r.session.Close() // it only reads
	}
	r.graph.Close()
}
