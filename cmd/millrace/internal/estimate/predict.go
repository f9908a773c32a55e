package estimate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator"
	"millrace/internal/base/figures"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/stage/order"
	"millrace/observe"
	"millrace/remote"
	"millrace/sandbox"
	"millrace/savedmodel"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	config    cli.ConfigFlags
	model     cli.ModelFlags
	fetch     []string
	out       string
	parts     int64 // batches of each; 0: one file
	overwrite bool
	text      cli.TextFlag

	quarantine cli.QuarantineFlag
	provenance cli.ProvenanceFlag
}

// ledger returns the default path of the list of records that predict leaves out. It is
// in the output's folder.
func (f *predictFlags) ledger() string {
	if f.out == output.Stdout || remote.IsURL(f.out) {
		return "" // a list in a store cannot be continued
	}
	return f.out + ".quarantine.ndjson"
}

func (p *program) predictCommand() *cobra.Command {
	var flags predictFlags
	c := &cobra.Command{
		Use:   "predict CONFIG --model DIR --out FILE",
		Short: "Run a model over a dataset and write its outputs",
		Long: `Run a SavedModel's signature over the batches of a loader config and write its
outputs, one row per record, in the order of the records. The pipeline and the
model run in one TensorFlow graph: batches do not pass through Go.

The extension of --out chooses the format:
  .ndjson, .jsonl  one JSON object per record: {"digit":3,"scores":[0.1,0.9]};
                   nested arrays; the strings "NaN", "Infinity" and "-Infinity"
                   for floats that JSON lacks; strings in base64
                   unless --text names their tensor
  .tfrecords, .tfrecord
                   one tf.Example per record, flat lists: integers and bools as
                   int64, floats as float (float64 rounded), strings as bytes;
                   a loader config of type dir finds .tfrecords by itself
  .npz             one NumPy array per tensor; all rows must have one shape;
                   strings of fixed width; needs disk space for two copies
  .parquet         one column per tensor, nested lists for the row's dimensions
bfloat16 becomes float32 in .npz and .parquet. --out - writes NDJSON to standard
output.

predict writes a temporary file and renames it when it is complete. After an
error, SIGINT or SIGTERM it removes the temporary file. A second signal ends the
process at once.

With --part-batches N the output is a folder FILE: part-00000, part-00001 and so
on, whole files of N batches each, and _SUCCESS with counts and digests when all
is there. After an error, a signal or a kill the whole parts stay, and the same
command goes on behind them. It refuses to if the data, the model or the config
has changed, and says what.

A model is a program. predict refuses models with operations that touch files
or the network, unless --allow-op names them. This check is not a sandbox.`,
		Example: `  millrace predict examples/digits/predict.json --model examples/digits/model --out digits.ndjson
  millrace predict loader.json --model model --keep label --out scores.parquet
  millrace predict loader.json --model model --out scores.parquet --part-batches 1000
  millrace predict loader.json --model model --provenance --out scores.parquet
  millrace predict loader.json --model model --signature encode --out - | head -3`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case flags.model.Path == "":
				return cli.Usagef(c, "--model is missing")
			case flags.out == "":
				return cli.Usagef(c, "--out is missing")
			case c.Flags().Changed("part-batches") && flags.parts < 1:
				return cli.Usagef(c, "--part-batches must be at least 1, got %d", flags.parts)
			case flags.parts > 0 && flags.out == output.Stdout:
				return cli.Usagef(c, "--part-batches writes a folder, not to standard output")
			case filepath.Clean(flags.quarantine.Path) == filepath.Clean(flags.out):
				return cli.Usagef(c, "--quarantine and --out name the same file, %s", millrace.Quote(flags.out))
			}
			return p.predict(c.Context(), args[0], &flags)
		},
	}
	flags.config.Add(c)
	flags.config.AddKeep("also write the loader's tensor `NAME`; may be repeated")
	flags.model.Add(c, "`DIR` of a SavedModel")
	flags.text.Add(c)
	flags.provenance.Add(c)
	flags.quarantine.Add(c, "default: the file of --out with .quarantine.ndjson behind its name")
	f := c.Flags()
	f.StringArrayVar(&flags.fetch, "fetch", nil, "write only the model's output `NAME`; may be repeated (default all)")
	f.StringVar(&flags.out, "out", "", "`FILE` to write, its URL, or - for standard output")
	f.Int64Var(&flags.parts, "part-batches", 0, "write a folder FILE of parts of `N` batches, and go on with one that is not complete")
	f.BoolVar(&flags.overwrite, "overwrite", false, "replace FILE if it exists")
	return c
}

// predict makes all checks that need no TensorFlow, then loads the model and
// runs it.
func (p *program) predict(ctx context.Context, config string, flags *predictFlags) error {
	p.Warm()
	m := p.NewMeter("predict")
	defer m.Stop()
	checked, plan, err := p.CheckWithModel(config, &flags.config, &flags.model, observe.Join(m.Listener(), flags.quarantine.Listener()))
	if err != nil {
		return err
	}
	outputs, err := p.rowOutputs(checked, flags.fetch)
	if err != nil {
		return err
	}
	job := &prediction{plan: plan, checked: checked, outputs: outputs, flags: flags, meter: m}
	if err := flags.text.Check(job.expected()); err != nil {
		return err
	}
	if err := flags.provenance.Check(plan, job.expected(), "--fetch chooses other outputs, and a kept tensor may have another to_name"); err != nil {
		return err
	}
	if plan.Epochs == 0 && flags.out != output.Stdout {
		e := millrace.Errorf(millrace.ErrConfig, "null repeats without end, so the output file would never be complete; set a number, or write to --out -")
		e.File, e.Key = plan.Path, "args.epochs"
		return e
	}
	if job.out, err = p.open(job); err != nil {
		return err
	}
	defer job.out.Close()
	flags.quarantine.Use(p.Program, flags.ledger(), plan)
	if err := p.Confine(job.needs()); err != nil {
		return err
	}
	err = p.predictTo(ctx, job)
	flags.quarantine.Tell(p.Program)
	if err != nil || job.complete {
		return err
	}
	elapsed := m.Stop()
	fmt.Fprintf(p.Stderr, "%s: %s in %s, %s records/s, %s\n", outName(flags.out), figures.Of(job.out.Rows(), "record"),
		figures.Seconds(elapsed), figures.Count(int64(figures.Rate(job.out.Rows()-job.before, elapsed))), figures.Size(job.out.Bytes()))
	return nil
}

// needs returns the files that the rest of the prediction uses. The temporary file of
// an output in one file is already open, and only has to be renamed. An output in .npz
// makes more files in the same folder.
func (j *prediction) needs() *sandbox.Policy {
	needs := cli.LoaderNeeds(j.plan)
	needs.Read = append(needs.Read, j.flags.model.Path)
	j.flags.quarantine.Needs(needs)
	if j.flags.out == output.Stdout {
		return needs
	}
	folder := filepath.Dir(j.flags.out)
	if remote.IsURL(j.flags.out) {
		needs.Write = append(needs.Write, j.flags.out)
		return needs
	}
	switch {
	case j.flags.parts > 0:
		needs.Write = append(needs.Write, j.flags.out)
	case strings.HasSuffix(j.flags.out, ".npz"):
		needs.Write = append(needs.Write, folder)
	}
	needs.Rename = append(needs.Rename, folder)
	return needs
}

// predictAhead is how many steps the model works ahead of writing.
const predictAhead = 2

// predictTo loads the model and runs it.
func (p *program) predictTo(ctx context.Context, j *prediction) error {
	scan, err := p.Prepare(ctx, j.plan)
	if err != nil {
		return err
	}
	run := &estimator.RunOptions{Ahead: predictAhead, SaveEvery: j.flags.parts, Places: j.flags.provenance.Given}
	if j.complete, err = j.out.begin(p, j, scan, run); j.complete || err != nil {
		return err
	}
	model, err := j.checked.LoadContext(ctx)
	if err != nil {
		return err
	}
	defer model.Close()
	j.before = j.out.Rows()
	source := &loaders.Source{Plan: j.plan, Scan: scan}
	j.meter.Start(func() int64 {
		rows, _ := source.ExpectedRows() // 0 if the number is not known
		return max(rows-j.before, 0)
	})
	if err := j.write(ctx, model, source, run); err != nil {
		return err
	}
	return j.out.commit(j.counts(scan, source))
}

// write writes the model's outputs for the batches of a source.
func (j *prediction) write(ctx context.Context, model *estimator.Model, source *loaders.Source, run *estimator.RunOptions) error {
	o := &estimator.PredictOptions{Keep: j.flags.config.Keep}
	for _, t := range j.outputs {
		o.Outputs = append(o.Outputs, t.Name)
	}
	pipe, err := model.Join(ctx, source, o)
	if err != nil {
		return err
	}
	var cols []output.Column
	for batch, err := range pipe.Run(ctx, run) {
		if err != nil {
			return err
		}
		if cols, err = cli.Columns(cols, batch); err != nil {
			return err
		}
		j.flags.text.Mark(cols)
		cols = j.flags.provenance.Append(cols, batch)
		if err := j.out.write(cols, batch.State()); err != nil {
			return err
		}
	}
	return nil
}

// counts returns the numbers of records and batches from which the output was made.
func (j *prediction) counts(scan *loaders.Scan, source *loaders.Source) output.Counts {
	c := output.Counts{Records: -1, Epochs: j.plan.Epochs, LeftOut: source.LeftOut(), Filtered: source.Filtered()}
	if records, known := order.EpochRecords(j.plan.Spec, scan); known {
		c.Records = records
	}
	return c
}

// rowOutputs returns the outputs of the model to write: those named, or all. A
// sparse, ragged or composite tensor does not have one row per record. Without
// names such outputs are left out, with a note.
func (p *program) rowOutputs(m *estimator.CheckedModel, names []string) ([]savedmodel.Tensor, error) {
	all, err := m.Outputs("", names)
	if err != nil {
		return nil, err
	}
	var rows []savedmodel.Tensor
	var odd *millrace.Error
	for _, t := range all {
		if t.Encoding == savedmodel.Dense {
			rows = append(rows, t)
			continue
		}
		e := millrace.Errorf(millrace.ErrModel, "is part of a %s tensor, which does not have one row per record; --fetch chooses other outputs", t.Encoding)
		e.Tensor = t.Name
		odd = cmp.Or(odd, e)
		if len(names) == 0 {
			p.Note("the output %s is left out: it is part of a %s tensor, which does not have one row per record", millrace.Quote(t.Name), t.Encoding)
		}
	}
	if odd != nil && (len(names) > 0 || rows == nil) {
		return nil, odd
	}
	return rows, nil
}

// outName returns the name of the output for messages.
func outName(path string) string {
	if path == output.Stdout {
		return "standard output"
	}
	return millrace.Quote(path)
}
