package datasets

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/tool/output"
	"millrace/loaders/quarantine"
	"millrace/sandbox"
)

func quarantineCommand(p *cli.Program) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:     "quarantine",
		Short:   "Look at the bad records that a run has left out",
		Example: `  millrace quarantine extract scores.parquet.quarantine.ndjson bad.tfrecords`,
	})
	c.AddCommand(extractCommand(p))
	return c
}

func extractCommand(p *cli.Program) *cobra.Command {
	var overwrite bool
	c := &cobra.Command{
		Use:   "extract LEDGER OUT.tfrecords",
		Short: "Copy the data of bad records to a file of their own",
		Long: `Copy the data of the records that a ledger lists to a TFRecord file, sorted by
file and offset, each record once. A ledger is what --quarantine of dump,
predict and train writes.

The data are copied as they are, with checksums of their own, so that every
reader of TFRecords can read the copy. Where the rest of a file was left out, it
is one record of the copy, with all headers and checksums in it.

OUT.tfrecords appears when it is complete. A data file that has changed since
the ledger was written is an error, and then there is no OUT.tfrecords.`,
		Example: `  millrace quarantine extract scores.parquet.quarantine.ndjson bad.tfrecords
  millrace quarantine extract runs/first/quarantine.ndjson bad.tfrecords --overwrite`,
		Args: cli.Exactly("LEDGER", "OUT.tfrecords"),
		RunE: func(c *cobra.Command, args []string) error {
			if !strings.HasSuffix(args[1], ".tfrecords") {
				return cli.Usagef(c, "%q: the name must end in .tfrecords", args[1])
			}
			return extract(p, args[0], args[1], overwrite)
		},
	}
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace OUT.tfrecords if it exists")
	return c
}

// extract copies the data of the records that a ledger lists.
func extract(p *cli.Program, ledger, path string, overwrite bool) error {
	entries, err := quarantine.Read(ledger)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		e := millrace.Errorf(millrace.ErrConfig, "this is no ledger of bad records: it lists none; name another file")
		e.File = ledger
		return e
	}
	inputs, err := outside(path, ledger, entries)
	if err != nil {
		return err
	}
	if err := p.Confine(&sandbox.Policy{Read: inputs, Write: []string{filepath.Dir(path)}}); err != nil {
		return err
	}
	var records int64
	err = output.WriteWhole(path, &output.Options{Overwrite: overwrite, Inputs: inputs}, func(w io.Writer) (err error) {
		records, err = quarantine.Extract(w, entries)
		return err
	})
	if err != nil {
		return err
	}
	return p.Printf("%s: %s\n", millrace.Quote(path), figures.Of(records, "record"))
}

// outside returns the files that must stay as they are. It refuses a copy that would
// become a file of a dataset: the copied records have valid checksums, so nobody would
// notice that they are bad.
func outside(path, ledger string, entries []quarantine.Entry) (inputs []string, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	inputs = append(inputs, ledger)
	for _, e := range entries {
		if filepath.Dir(e.File) == filepath.Dir(path) {
			e := millrace.Errorf(millrace.ErrConfig, "the folder has data files, and bad records must not become one; name another folder")
			e.File = path
			return nil, e
		}
		inputs = append(inputs, e.File)
	}
	return inputs, nil
}
