package datasets

import (
	"github.com/spf13/cobra"
	"path/filepath"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/inspect"
	"millrace/internal/tool/output"
	"millrace/sandbox"
	"millrace/savedmodel"
	"millrace/tfrecord/index"
)

// inspection is a run of inspect with its flags.
type inspection struct {
	*cli.Program
	manifest  string
	overwrite bool
	json      bool
	all       bool
	sample    int64
	tags      []string
}

func inspectCommand(p *cli.Program) *cobra.Command {
	i := &inspection{Program: p}
	c := &cobra.Command{
		Use:   "inspect DATASET_DIR|MODEL_DIR",
		Short: "Show what is in a dataset or in a model, and propose a manifest",
		Long: `Show the TFRecord files of a dataset: the number of records, the size and the
compression of each. For each feature, show its kind, how many records have it,
how many values it has, and their range. inspect needs no manifest and no
TensorFlow.

Of a folder with a saved_model.pb, show the SavedModel: its signatures with the
types and shapes of their inputs and outputs, its variables, its operations, the
TensorFlow that wrote it, and whether the policy refuses it and why. --all and
--json list every variable and operation.

Damaged files are reported with the place of the damage. inspect shows the rest
of the dataset as usual, and exits with code 3.

--write-manifest writes a first manifest. A feature whose number of values
differs, or that some records lack, gets a shape that begins with -1. Add shapes
of more than one dimension and raw tensors yourself.

Where the data files do not end in .tfrecords, inspect tells which pattern a
loader config needs to find them.`,
		Example: `  millrace inspect examples/digits/data
  millrace inspect examples/digits/model
  millrace inspect data --sample 1000
  millrace inspect data --write-manifest data/__manifest__.json
  millrace inspect data --json | jq '.features[].name'`,
		Args: cli.Exactly("DATASET_DIR|MODEL_DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if savedmodel.IsModel(args[0]) {
				return i.model(c, args[0])
			}
			return i.dataset(c, args[0])
		},
	}
	f := c.Flags()
	f.StringVar(&i.manifest, "write-manifest", "", "write a manifest to `FILE`")
	f.BoolVar(&i.overwrite, "overwrite", false, "let --write-manifest replace a file")
	f.BoolVar(&i.json, "json", false, "print JSON")
	f.BoolVar(&i.all, "all", false, "list every file")
	f.Int64Var(&i.sample, "sample", 0, "parse only the first `N` records of each file (default all)")
	f.StringSliceVar(&i.tags, "tag-set", nil, "`TAGS` of a model's meta graph, separated by commas (default serve, or those of the only one)")
	return c
}

// model reports on a SavedModel. It exits with code 4 if the policy refuses
// the model.
func (i *inspection) model(c *cobra.Command, dir string) error {
	for _, name := range []string{"write-manifest", "overwrite", "sample"} {
		if c.Flags().Changed(name) {
			return cli.Usagef(c, "--%s: %s is a model, not a dataset", name, millrace.Quote(dir))
		}
	}
	if err := i.Confine(&sandbox.Policy{Read: []string{dir}}); err != nil {
		return err
	}
	report, err := inspect.Model(dir, &inspect.ModelOptions{Tags: i.tags})
	if err != nil {
		return err
	}
	if i.json {
		err = i.PrintJSON(report)
	} else {
		err = cli.StdoutError(report.WriteText(i.Stdout, i.all))
	}
	if err == nil && len(report.Refused) > 0 {
		return cli.Silent{Err: millrace.Errorf(millrace.ErrUnsafeModel, "the policy refuses the model")}
	}
	return err
}

// dataset reports on a dataset, and writes the manifest.
func (i *inspection) dataset(c *cobra.Command, dir string) error {
	if i.sample < 0 {
		return cli.Usagef(c, "--sample %d: must not be negative", i.sample)
	}
	needs := &sandbox.Policy{Read: append(cli.Folders(dir), index.CacheDir())}
	if i.manifest != "" {
		needs.Write = append(needs.Write, filepath.Dir(i.manifest))
	}
	if err := i.Confine(needs); err != nil {
		return err
	}
	report, err := inspect.Dataset(c.Context(), dir, &inspect.Options{Sample: i.sample})
	if err != nil {
		return err
	}
	if err := i.print(report); err != nil {
		return err
	}
	for _, problem := range report.Problems {
		i.PrintProblems(problem)
	}
	if i.manifest != "" {
		manifest, err := report.Manifest()
		if err != nil {
			return err
		}
		if err := output.WriteFile(i.manifest, manifest, i.overwrite); err != nil {
			return err
		}
		i.Note("wrote %s; review it before you use it", millrace.Quote(i.manifest))
	}
	if report.Problems != nil {
		return cli.Silent{Err: report.Problems[0]}
	}
	return nil
}

func (i *inspection) print(r *inspect.Report) error {
	if !i.json {
		return cli.StdoutError(r.WriteText(i.Stdout, i.all))
	}
	return i.PrintJSON(r)
}
