package main

import (
	"context"
	"io"
	"path/filepath"
)

// run measures and reports only servers.
func (s *serving) run(ctx context.Context, o settings, out io.Writer) (bool, error) {
	rounds, err := repeat(o.rounds, func() (r round, err error) {
		r.Serving, err = s.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(o.dir, "results-serving.json"), rounds); err != nil {
		return false, err
	}
	met := table(out, rounds, servingRows())
	explainServing(out, rounds)
	return met, nil
}
