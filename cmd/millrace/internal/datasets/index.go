package datasets

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/tool/inspect"
	"millrace/sandbox"
	"millrace/tfrecord/index"
)

func indexCommand(p *cli.Program) *cobra.Command {
	var rebuild, asJSON bool
	c := &cobra.Command{
		Use:   "index DATASET_DIR",
		Short: "Remember how many records the files of a dataset hold, and where each is",
		Long: `Write an index of every TFRecord file of a dataset that has none, or none that
fits it. A loader with an index need not walk through the file to count its
records, and can read any record by its number.

DATASET_DIR may be a URL such as s3://BUCKET/FOLDER. Then the files are read
once, from their beginning to their end.

The index of FILE is FILE.millrace-index, beside it or, if that folder cannot be
written, in the user's cache directory. It takes 4 bytes a record. An index is
used only while the file's size, its modification time and a sample of its
records are those that were indexed, so it does no harm to leave it behind.

A damaged file gets no index. It is reported with the place of the damage, and
index exits with code 3; with code 7 if an index cannot be written.`,
		Example: `  millrace index examples/digits/data
  millrace index data --json | jq '.files[].records'`,
		Args: cli.Exactly("DATASET_DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			var unwritten error
			warn := func(err error) {
				if errors.Is(err, millrace.ErrIO) {
					unwritten = errors.Join(unwritten, err)
					return
				}
				p.Warn("%v", err)
			}
			needs := &sandbox.Policy{Read: cli.Folders(args[0]), Write: []string{args[0]}}
			if dir := index.CacheDir(); dir != "" && os.MkdirAll(dir, 0o755) == nil {
				needs.Write = append(needs.Write, dir)
			}
			if err := p.Confine(needs); err != nil {
				return err
			}
			report, err := inspect.Index(c.Context(), args[0], &inspect.IndexOptions{Rebuild: rebuild, Warn: warn})
			if err != nil {
				return err
			}
			if asJSON {
				err = p.PrintJSON(report)
			} else {
				err = p.Printf("%s\n", indexSummary(report))
			}
			if err != nil {
				return err
			}
			return errors.Join(report.Problems, unwritten)
		},
	}
	f := c.Flags()
	f.BoolVar(&rebuild, "rebuild", false, "make every index anew, even if it fits its file")
	f.BoolVar(&asJSON, "json", false, "print JSON, with every file")
	return c
}

// indexSummary describes the indexes of a dataset in one line.
func indexSummary(r *inspect.IndexReport) string {
	sum, current, made := r.Total()
	text := fmt.Sprintf("%s: %s, %s of %s", millrace.Quote(r.Path), figures.Of(int64(len(r.Files)), "file"),
		figures.Of(sum.Records, "record"), figures.Size(sum.DataBytes))
	for _, part := range []struct {
		files int
		what  string
	}{{made, "indexed"}, {current, "with a current index"}, {len(r.Files) - made - current, "without an index"}} {
		if part.files > 0 {
			text += fmt.Sprintf("; %s %s", figures.Count(int64(part.files)), part.what)
		}
	}
	return text
}
