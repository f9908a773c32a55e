package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/internal/inspect"
	"millrace/internal/output"
	"millrace/internal/terminal"
)

// inspectFlags are the flags of inspect.
type inspectFlags struct {
	manifest  string
	overwrite bool
	json      bool
	all       bool
	sample    int64
}

func (p *program) inspectCommand() *cobra.Command {
	var flags inspectFlags
	c := &cobra.Command{
		Use:   "inspect DATASET_DIR",
		Short: "Show what is in a dataset, and propose a manifest",
		Long: `Show the TFRecord files of a dataset: the number of records, the size and the
compression of each. For each feature, show its kind, how many records have it,
how many values it has, and their range. inspect needs no manifest and no
TensorFlow.

Damaged files are reported with the place of the damage. inspect shows the rest
of the dataset as usual, and exits with code 3.

--write-manifest writes a first manifest. It has the features that are in every
record with the same kind and the same number of values. Add shapes of more than
one dimension and raw tensors yourself.`,
		Example: `  millrace inspect examples/digits/data
  millrace inspect data --sample 1000
  millrace inspect data --write-manifest data/__manifest__.json
  millrace inspect data --json | jq '.features[].name'`,
		Args: exactly("DATASET_DIR"),
		RunE: func(c *cobra.Command, args []string) error { return p.inspect(c, args[0], &flags) },
	}
	f := c.Flags()
	f.StringVar(&flags.manifest, "write-manifest", "", "write a manifest to `FILE`")
	f.BoolVar(&flags.overwrite, "overwrite", false, "let --write-manifest replace a file")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.BoolVar(&flags.all, "all", false, "list every file")
	f.Int64Var(&flags.sample, "sample", 0, "parse only the first `N` records of each file (default all)")
	return c
}

func (p *program) inspect(c *cobra.Command, dir string, flags *inspectFlags) error {
	if flags.sample < 0 {
		return usagef(c, "--sample %d: must not be negative", flags.sample)
	}
	report, err := inspect.Dataset(c.Context(), dir, &inspect.Options{Sample: flags.sample})
	if err != nil {
		return err
	}
	if err := p.printReport(report, flags); err != nil {
		return err
	}
	for _, problem := range report.Problems {
		p.printProblems(problem)
	}
	if flags.manifest != "" {
		manifest, err := report.Manifest()
		if err != nil {
			return err
		}
		if err := output.WriteFile(flags.manifest, manifest, flags.overwrite); err != nil {
			return err
		}
		p.note("wrote %s; review it before you use it", millrace.Quote(flags.manifest))
	}
	if report.Problems != nil {
		return silent{report.Problems[0]}
	}
	return nil
}

func (p *program) printReport(r *inspect.Report, flags *inspectFlags) error {
	if !flags.json {
		return stdoutError(r.WriteText(p.stdout, flags.all))
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return p.printf("%s\n", terminal.AppendJSON(nil, b))
}
