package datasets

import (
	"bufio"
	"context"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/output"
	"millrace/loaders"
)

const dumpHelp = `Print the batches of a loader config, one JSON object per batch, one batch per
line:

  {"x": {"dtype": "int32", "shape": [2, 3], "values": [1, 2, 3, 4, 5, 6]}, ...}

Shapes include the batch dimension. Values are a flat list in row-major order:
64-bit integers are exact; floats read back as the same value of their dtype, or
are the strings "NaN", "Infinity" and "-Infinity"; strings are in base64 unless
--text names their tensor; a complex number is [real, imaginary].

If epochs is null, the output has no end: limit it with -n.

--explain-step N prints single examples before and after the processing step
with the index N, from 0, in the order of the files:

  {"before": {"x": {...}}, "after": {"y": {...}}}

"after" is null for an example that a filter does not keep.`

func dumpCommand(p *cli.Program) *cobra.Command {
	var config cli.ConfigFlags
	var model cli.ModelFlags
	var text cli.TextFlag
	var quarantine cli.QuarantineFlag
	var provenance cli.ProvenanceFlag
	var n int64
	explain := int64(-1)
	c := &cobra.Command{
		Use:   "dump CONFIG",
		Short: "Print the batches of a loader as JSON",
		Long:  dumpHelp,
		Example: `  millrace dump examples/digits/predict.json -n 1
  millrace dump loader.json | jq -c '.label.values'
  millrace dump loader.json --text sentence
  millrace dump loader.json --provenance | jq -c '[.file.values, .record.values]'
  millrace dump loader.json --explain-step 2 -n 1
  millrace dump loader.json --seed 7 --model names.json`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if n < 0 {
				return cli.Usagef(c, "-n %d: must not be negative", n)
			}
			p.Warm()
			names, err := model.Names(p)
			if err != nil {
				return err
			}
			plan, err := p.Check(args[0], &config, names)
			if err != nil {
				return err
			}
			if explain >= 0 {
				return explainStep(c.Context(), p, plan, int(explain), n)
			} else if c.Flags().Changed("explain-step") {
				return cli.Usagef(c, "--explain-step %d: want the index of a processing step, from 0", explain)
			}
			if err := text.Check(cli.Specs(plan)); err != nil {
				return err
			}
			if err := provenance.Check(plan, cli.Specs(plan), "give the tensor another to_name"); err != nil {
				return err
			}
			if n == 0 && c.Flags().Changed("batches") {
				return nil // no batches were requested
			}
			quarantine.Use(p, "", plan)
			defer quarantine.Tell(p)
			needs := cli.LoaderNeeds(plan)
			quarantine.Needs(needs)
			if err := p.Confine(needs); err != nil {
				return err
			}
			return dump(c.Context(), p, plan, &dumpOptions{
				n: n, text: &text, provenance: &provenance,
				run: loaders.RunOptions{Observe: quarantine.Listener(), Places: provenance.Given},
			})
		},
	}
	c.Flags().Int64VarP(&n, "batches", "n", 0, "stop after `N` batches (default all)")
	c.Flags().Int64Var(&explain, "explain-step", -1, "print examples before and after the processing step with the index `N`")
	text.Add(c)
	quarantine.Add(c, "default none")
	provenance.Add(c)
	config.Add(c)
	model.Add(c, "also check the config against a model: `DIR` of a SavedModel, or a JSON file of names")
	return c
}

// dumpOptions say what dump prints.
type dumpOptions struct {
	n    int64 // batches; 0: all
	text *cli.TextFlag
	run  loaders.RunOptions

	provenance *cli.ProvenanceFlag
}

// dump prints batches.
func dump(ctx context.Context, p *cli.Program, plan *loaders.Plan, o *dumpOptions) (err error) {
	loader, err := p.Open(ctx, plan)
	if err != nil {
		return err
	}
	defer loader.Close()
	w := bufio.NewWriterSize(p.Stdout, 64<<10)
	defer func() {
		if flushed := cli.StdoutError(w.Flush()); err == nil {
			err = flushed
		}
	}()
	var cols []output.Column
	var line []byte
	count := int64(0)
	for batch, err := range loader.Run(ctx, &o.run) {
		if err != nil {
			return err
		}
		if cols, err = cli.Columns(cols, batch); err != nil {
			return err
		}
		o.text.Mark(cols)
		cols = o.provenance.Append(cols, batch)
		if line, err = output.AppendBatch(line[:0], cols); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return cli.StdoutError(err)
		}
		if count++; count == o.n {
			return nil
		}
	}
	return nil
}
