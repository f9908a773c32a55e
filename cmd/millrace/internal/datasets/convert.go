package datasets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/tool/convert"
	"millrace/remote"
	"millrace/sandbox"
	"millrace/tfrecord"
)

// convertFlags are the flags of convert.
type convertFlags struct {
	convert.Options
	out         string
	compression string
	json        bool
}

func convertCommand(p *cli.Program) *cobra.Command {
	var flags convertFlags
	c := &cobra.Command{
		Use:   "convert IN... --out DIR",
		Short: "Convert files of other formats to a dataset",
		Long: `Convert files, or the files in folders, to a dataset: shards of TFRecords with
__manifest__.json, index files, and convert.json, which says which rows are in
which shard. All inputs have one format, by the ending of their names:
  .csv, .tsv       the first line has the names of the columns. A column is
                   bool, int64, float32 or string, whichever holds all its
                   values; an empty cell is a missing value or an empty string
  .ndjson, .jsonl  one JSON object per line: numbers, strings, true and false,
                   and lists of these
` + convertFormats + `A list of varying length has a shape that begins with -1. So has a column that
lacks values; rows without one lack the feature. Floats are stored as 32 bits.

No value changes in silence: one that a record cannot hold, and a key that an
object has twice, are errors with row, column and value. --invalid-utf8,
--overflow and --inexact-integers choose otherwise, and convert.json says so.

With --manifest the records are as that manifest says, and a value that does not
fit is an error. Columns that it does not name are left out.

DIR appears when all is converted. After a kill, or SIGINT, the same command
goes on after the last whole shard. DIR may be a URL such as s3://BUCKET/FOLDER:
each shard appears when it is whole, and __manifest__.json last.`,
		Example: `  millrace convert songs.csv --out songs
  millrace convert day1.ndjson day2.ndjson --out days --shards 16 --compression gzip
  millrace convert prices.csv --out prices --manifest manifest.json
  millrace convert songs --out packed --shards 4 --compression gzip`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef(c, "IN is missing: name files, or folders, to convert")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.check(c); err != nil {
				return err
			}
			return convertFiles(c.Context(), p, args, &flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.out, "out", "", "the `DIR` to make; it must not exist, or be empty")
	f.StringVar(&flags.Manifest, "manifest", "", "write the records that this manifest `FILE` describes")
	f.Int64Var(&flags.Shards, "shards", 0, "write `N` shards of nearly equal numbers of rows")
	f.Var(cli.Size(&flags.ShardBytes, 0), "shard-bytes", "end a shard before it has more than `B` bytes, uncompressed (default 268435456)")
	f.StringVar(&flags.compression, "compression", "", "compress the shards: `gzip` or zlib")
	f.IntVar(&flags.Workers, "workers", 0, "convert `N` blocks of rows at once (default one for each processor)")
	f.StringVar(&flags.InvalidUTF8, "invalid-utf8", "error", "text that is not UTF-8 is an `error`, or replace: U+FFFD takes its place")
	f.StringVar(&flags.Overflow, "overflow", "error", "a number that a float32 cannot hold is an `error`, or infinity")
	f.StringVar(&flags.InexactIntegers, "inexact-integers", "error", "an integer beside fractions that a float32 cannot hold is an `error`, or round")
	f.BoolVar(&flags.json, "json", false, "print convert.json at the end")
	return c
}

// convertFormats describes more formats.
const convertFormats = `  .parquet, .pq    columns of numbers, bools, texts and byte strings, and lists
                   of these; dates and times become the integer in them
  .arrow, .feather the same, as Arrow IPC files or streams
  .npz             one record per element of the first dimension; all arrays
                   have as many
  .jpg, .jpeg, .png, .gif
                   one record per file: image has its bytes, class is the name
                   of its folder, label the number of the class, path the file
  .wav             one record per file: audio has its samples, sample_rate how
                   many there are in a second; class, label, path
  .tfrecords       records stay as they are, and so does the manifest: for other
                   shards, or another compression
`

// check refuses flags that make no sense.
func (f *convertFlags) check(c *cobra.Command) error {
	changed := c.Flags().Changed
	f.Compression = tfrecord.Compression(f.compression)
	switch {
	case f.out == "":
		return cli.Usagef(c, "--out is missing")
	case changed("shards") && changed("shard-bytes"):
		return cli.Usagef(c, "--shards and --shard-bytes exclude each other")
	case changed("shards") && f.Shards < 1:
		return cli.Usagef(c, "--shards must be at least 1, got %d", f.Shards)
	case changed("shard-bytes") && f.ShardBytes < 1:
		return cli.Usagef(c, "--shard-bytes must be at least 1, got %d", f.ShardBytes)
	case changed("workers") && f.Workers < 1:
		return cli.Usagef(c, "--workers must be at least 1, got %d", f.Workers)
	case changed("compression") && f.Compression != tfrecord.GZIP && f.Compression != tfrecord.ZLIB:
		return cli.Usagef(c, "--compression %q: must be gzip or zlib", f.compression)
	}
	return f.choose(c)
}

// choose reads the choices. An empty one stands for error, the default.
func (f *convertFlags) choose(c *cobra.Command) error {
	for _, choice := range []struct {
		flag  string
		value *string
		other string
	}{
		{"invalid-utf8", &f.InvalidUTF8, convert.ReplaceInvalid},
		{"overflow", &f.Overflow, convert.ToInfinity},
		{"inexact-integers", &f.InexactIntegers, convert.RoundIntegers},
	} {
		switch *choice.value {
		case "error":
			*choice.value = ""
		case choice.other:
		default:
			return cli.Usagef(c, "--%s %q: must be error or %s", choice.flag, *choice.value, choice.other)
		}
	}
	return nil
}

// parent returns the folder of an output, or its URL.
func parent(out string) string {
	if remote.IsURL(out) {
		return out
	}
	return filepath.Dir(filepath.Clean(out))
}

// convertFiles converts files and prints the result.
func convertFiles(ctx context.Context, p *cli.Program, inputs []string, flags *convertFlags) error {
	m := p.NewMeter("convert")
	defer m.Stop()
	done := int64(0)
	flags.Note = func(text string) { p.Note("%s", text) }
	flags.Progress = func(now, total int64) {
		if done == 0 {
			m.Start(func() int64 { return total })
		}
		m.Add(now - done)
		done = now
	}
	into := parent(flags.out)
	if !remote.IsURL(into) {
		// The sandbox can only allow a folder that exists.
		if err := os.MkdirAll(into, 0o777); err != nil {
			return millrace.Errorf(millrace.ErrIO, "make the folder for the dataset: %w", err)
		}
	}
	needs := &sandbox.Policy{Read: append(cli.Folders(inputs...), flags.Manifest), Write: []string{into}}
	if err := p.Confine(needs); err != nil {
		return err
	}
	p.SetUnfinished(millrace.Quote(flags.out) + " is not written; the same command goes on after the last whole shard")
	report, err := convert.Run(ctx, inputs, flags.out, &flags.Options)
	if err != nil {
		return err
	}
	elapsed := m.Stop()
	if flags.json {
		return p.PrintJSON(report)
	}
	resumed := ""
	if report.Resumed > 0 {
		resumed = fmt.Sprintf(", %s of them by an earlier run", figures.Count(report.Resumed))
	}
	return p.Printf("%s: %s in %s%s, %s records/s\n", millrace.Quote(flags.out), figures.Of(report.Rows, "record"),
		figures.Of(int64(len(report.Shards)), "shard"), resumed, figures.Count(int64(figures.Rate(report.Rows-report.Resumed, elapsed))))
}
