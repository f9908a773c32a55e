package datasets

import (
	"bufio"
	"bytes"
	"context"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/output"
	"millrace/internal/tool/preview"
	"millrace/loaders"
)

// explainStep prints the first n examples, 0 for all, before and after a processing step.
func explainStep(ctx context.Context, p *cli.Program, plan *loaders.Plan, index int, n int64) (err error) {
	step, err := preview.StepOf(plan, index)
	if err != nil {
		return err
	}
	if err := p.Confine(cli.LoaderNeeds(plan)); err != nil {
		return err
	}
	p.Note("step %d: %s", index, step)
	w := bufio.NewWriterSize(p.Stdout, 64<<10)
	defer func() {
		if flushed := cli.StdoutError(w.Flush()); err == nil {
			err = flushed
		}
	}()
	return step.Pairs(ctx, n, &loaders.Options{Runtime: p.RuntimeOptions()}, func(before, after *loaders.Batch) error {
		line := []byte(`{"before": `)
		for i, batch := range []*loaders.Batch{before, after} {
			if i == 1 {
				line = append(line, `, "after": `...)
			}
			if batch == nil {
				line = append(line, "null"...)
				continue
			}
			cols, err := cli.Columns(nil, batch)
			if err != nil {
				return err
			}
			text, err := output.AppendBatch(nil, cols)
			if err != nil {
				return err
			}
			line = append(line, bytes.TrimSuffix(text, []byte("\n"))...)
		}
		_, err := w.Write(append(line, "}\n"...))
		return cli.StdoutError(err)
	})
}
