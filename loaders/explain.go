package loaders

import (
	"context"

	"millrace/graph/dataset"
	"millrace/graph/dataset/explain"
	"millrace/tfbridge"
)

// Explain describes the dataset that a plan becomes, as TensorFlow builds and runs it.
// If batches is not 0, it also takes that many batches, or one epoch if it has fewer or
// batches is -1, and reports the cost of each stage. If scan is nil, Explain looks at
// the files first. See [dataset.Dataset.Explain].
//
// It builds its own pipeline and closes it, as [TimeStages] does.
func Explain(ctx context.Context, p *Plan, scan *Scan, batches int64) (*explain.Dataset, error) {
	if batches != 0 {
		p = p.MeasureTime()
	}
	g, pipe, err := buildAlone(ctx, p, scan)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{}
	for input, value := range map[tfbridge.Output]int64{pipe.Group: pipe.GroupSize, pipe.Skip: 0, pipe.Prefetch: p.Prefetch} {
		t, err := tfbridge.NewTensor(value)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		feeds[input] = t
	}
	return pipe.Dataset.Explain(ctx, &dataset.ExplainOptions{Elements: batches, Feeds: feeds})
}
