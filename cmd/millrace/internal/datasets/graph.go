package datasets

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders"
	"millrace/loaders/portable"
)

// graphWriter is the command graph.
type graphWriter struct {
	*cli.Program
	config    cli.ConfigFlags
	model     cli.ModelFlags
	path      string
	state     string
	overwrite bool
	json      bool
}

// graphCommand returns the command graph.
func graphCommand(p *cli.Program) *cobra.Command {
	w := &graphWriter{Program: p}
	c := &cobra.Command{
		Use:   "graph CONFIG --out FILE",
		Short: "Write the dataset of a loader config as a TensorFlow graph",
		Long: `Write the tf.data dataset that a loader config becomes, as a graph that any
process runs that has TensorFlow and the library of Millrace's operations
(millrace runtime native prints its path): Python's package millrace, for one.
The batches are those of this program.

FILE is a serialized GraphDef. FILE.json says which tensor of it is the dataset,
the name, dtype and shape of each component of a batch, how many batches there
are, and what the graph was made of. The paths of data files in the graph are
absolute.

A plan that calls Go functions cannot run elsewhere. graph refuses it, and says
which stages call Go and why; millrace plan prints the same. Where the config
has records checked (bad_records, check_finite, duplicate_features), graph reads
and checks all of them first. The graph has a list of the bad ones that it skips.`,
		Example: `  millrace graph examples/digits/predict.json --out predict.pb
  millrace graph loader.json -o train.pb --seed 7 --overwrite
  jq .tensors train.pb.json`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if w.path == "" {
				return cli.Usagef(c, "graph needs --out FILE")
			}
			names, err := w.model.Names(p)
			if err != nil {
				return err
			}
			plan, err := p.Check(args[0], &w.config, names)
			if err != nil {
				return err
			}
			return w.write(c.Context(), plan)
		},
	}
	c.Flags().StringVarP(&w.path, "out", "o", "", "write the graph to `FILE`, and what is in it to FILE.json")
	c.Flags().StringVar(&w.state, "state", "", "begin where the state in `FILE` was saved, by a run or by millrace state")
	c.Flags().BoolVar(&w.overwrite, "overwrite", false, "replace FILE and FILE.json if they exist")
	c.Flags().BoolVar(&w.json, "json", false, "print what is in FILE.json, and the path of the library of operations")
	w.config.Add(c)
	w.config.AddKeep(cli.KeepToCheck)
	w.model.Add(c, "also check the config against a model: `DIR` of a SavedModel, or a JSON file of names")
	return c
}

// write writes the graph of a plan.
func (w *graphWriter) write(ctx context.Context, plan *loaders.Plan) error {
	needs := cli.LoaderNeeds(plan)
	needs.Write = append(needs.Write, filepath.Dir(w.path))
	if w.state != "" {
		needs.Read = append(needs.Read, w.state)
	}
	if err := w.Confine(needs); err != nil {
		return err
	}
	scan, err := w.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	o := &portable.Options{}
	if w.state != "" {
		if o.State, err = readState(w.state); err != nil {
			return err
		}
	}
	g, err := portable.New(ctx, plan, scan, o)
	if err != nil {
		return err
	}
	if err := g.Write(w.path, &portable.WriteOptions{Overwrite: w.overwrite}); err != nil || !w.json {
		return err
	}
	return w.PrintJSON(writtenGraph{g.Description, plan.NativeLibrary})
}

// writtenGraph is a graph that was written, as JSON.
type writtenGraph struct {
	portable.Description
	Library string `json:"library"` // path of the operations
}
