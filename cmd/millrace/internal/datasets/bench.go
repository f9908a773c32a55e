package datasets

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator"
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
	"millrace/loaders"
)

// benchmark is a run of bench with its flags.
type benchmark struct {
	*cli.Program
	config  cli.ConfigFlags
	model   cli.ModelFlags
	batches int64
	json    bool
}

// benchResult is the result of bench. The keys of its JSON form are part of the
// interface.
type benchResult struct {
	Records     int64   `json:"records"`
	Batches     int64   `json:"batches"`
	Seconds     float64 `json:"seconds"` // duration of the loop over the batches
	RecordsPerS float64 `json:"records_per_s"`
	BytesPerS   float64 `json:"bytes_per_s"`   // size of the data files on disk, per second
	FirstBatchS float64 `json:"first_batch_s"` // from the start of the process
	PeakRSS     int64   `json:"peak_rss_bytes"`

	Padding []loaders.TensorWaste `json:"padding,omitempty"` // waste of the padded tensors of a loader
}

func benchCommand(p *cli.Program) *cobra.Command {
	b := &benchmark{Program: p}
	c := &cobra.Command{
		Use:   "bench CONFIG",
		Short: "Measure the speed of a loader, or of a model over it",
		Long: `Read all epochs of a loader config and print records and bytes per second, the
time from the start of the process to the first batch, and the peak memory of
the process. If epochs is null, bench reads one epoch. With --model it runs the
signature on every batch and writes nothing.

For a loader that pads, bench also prints how much of each tensor is padding.
Where shapes are known in advance, the share covers the whole pass. Otherwise it
covers the first 1,000 batches, which bench reads again after the measurement.

Bytes per second counts the data files as they are on disk. The start of the
process is the kernel's time stamp, exact to a hundredth of a second.`,
		Example: `  millrace bench examples/digits/predict.json
  millrace bench loader.json --model model --json
  millrace bench loader.json -n 100`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("batches") && b.batches < 1 {
				return cli.Usagef(c, "-n %d: must be at least 1", b.batches)
			}
			return b.run(c.Context(), args[0])
		},
	}
	b.config.Add(c)
	b.config.AddKeep("also fetch the loader's tensor `NAME` besides the model's outputs; may be repeated")
	b.model.Add(c, "run the SavedModel in `DIR`")
	c.Flags().Int64VarP(&b.batches, "batches", "n", 0, "stop after `N` batches")
	c.Flags().BoolVar(&b.json, "json", false, "print JSON")
	return c
}

// run measures and prints.
func (b *benchmark) run(ctx context.Context, config string) error {
	b.Warm()
	result, err := b.measure(ctx, config)
	if err != nil {
		return err
	}
	return b.print(result)
}

// measure measures the loader, or the model over it.
func (b *benchmark) measure(ctx context.Context, config string) (*benchResult, error) {
	if b.model.Path == "" {
		plan, err := b.Check(config, &b.config, nil)
		if err != nil {
			return nil, err
		}
		if err := b.Confine(cli.LoaderNeeds(plan)); err != nil {
			return nil, err
		}
		return b.loader(ctx, plan)
	}
	checked, plan, err := b.CheckWithModel(config, &b.config, &b.model, nil)
	if err != nil {
		return nil, err
	}
	needs := cli.LoaderNeeds(plan)
	needs.Read = append(needs.Read, b.model.Path)
	if err := b.Confine(needs); err != nil {
		return nil, err
	}
	return b.overModel(ctx, plan, checked)
}

// loader measures a loader alone.
func (b *benchmark) loader(ctx context.Context, plan *loaders.Plan) (*benchResult, error) {
	l, err := b.Open(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	r, err := timed(plan, l.Scan(), b.batches, l.Batches(ctx))
	if err != nil {
		return nil, err
	}
	r.Padding, err = b.padding(ctx, plan, min(r.Batches, mostMeasured))
	return r, err
}

// mostMeasured is how many batches are read again to measure padding.
const mostMeasured = 1000

// padding returns the share of padding in each tensor in the first n batches. If the
// plan does not give it, padding reads the batches again, because counting during the
// measured pass would cost time.
func (b *benchmark) padding(ctx context.Context, plan *loaders.Plan, n int64) ([]loaders.TensorWaste, error) {
	plan, waste := loaders.MeasurePadding(plan)
	if waste.Known() || n == 0 {
		return waste.Tensors(), nil
	}
	l, err := b.Open(ctx, plan)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for batch, err := range l.Batches(ctx) {
		if err == nil {
			err = waste.Add(batch)
		}
		if err != nil {
			return nil, err
		}
		if n--; n == 0 {
			break
		}
	}
	return waste.Tensors(), nil
}

// overModel measures a model over a loader.
func (b *benchmark) overModel(ctx context.Context, plan *loaders.Plan, checked *estimator.CheckedModel) (*benchResult, error) {
	scan, err := b.Prepare(ctx, plan)
	if err != nil {
		return nil, err
	}
	m, err := checked.LoadContext(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	keep := &estimator.PredictOptions{Keep: b.config.Keep}
	return timed(plan, scan, b.batches, m.Predict(ctx, &loaders.Source{Plan: plan, Scan: scan}, keep))
}

// timed reads n batches. If n is 0, it reads all of them, or one epoch's
// records of a loader that repeats without end.
func timed(plan *loaders.Plan, scan *loaders.Scan, n int64, batches iter.Seq2[*loaders.Batch, error]) (*benchResult, error) {
	perPass, known := scan.Records()
	if plan.Epochs == 0 && !known && n == 0 {
		e := millrace.Errorf(millrace.ErrConfig, "null repeats without end, and the records of remote files are not counted: set -n to the number of batches to read")
		e.File, e.Key = plan.Path, "args.epochs"
		return nil, e
	}
	r := &benchResult{}
	began := time.Now()
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		if r.Batches == 0 {
			r.FirstBatchS = machine.SinceStart().Seconds()
		}
		r.Batches++
		r.Records += batch.Rows()
		if n > 0 && r.Batches >= n || n == 0 && plan.Epochs == 0 && r.Records >= perPass {
			break
		}
	}
	r.finish(plan, perPass, time.Since(began))
	return r, nil
}

// finish computes the rates from the counts. One pass has perPass records.
func (r *benchResult) finish(plan *loaders.Plan, perPass int64, took time.Duration) {
	var size int64
	for _, f := range plan.Files {
		size += max(f.Size, 0)
	}
	r.Seconds, r.PeakRSS = took.Seconds(), machine.PeakMemory()
	r.RecordsPerS = figures.Rate(r.Records, took)
	if perPass > 0 {
		r.BytesPerS = float64(size) * r.RecordsPerS / float64(perPass)
	}
}

func (b *benchmark) print(r *benchResult) error {
	if b.json {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		return b.Printf("%s\n", text)
	}
	took := time.Duration(r.Seconds * float64(time.Second))
	first := time.Duration(r.FirstBatchS * float64(time.Second))
	text := fmt.Sprintf("%s in %s batches, %s\n%s records/s, %s/s\nfirst batch %s after the start of the process\npeak memory %s\n",
		figures.Of(r.Records, "record"), figures.Count(r.Batches), figures.Seconds(took),
		figures.Count(int64(r.RecordsPerS)), figures.Size(int64(r.BytesPerS)), figures.Seconds(first), figures.Size(r.PeakRSS))
	for _, x := range r.Padding {
		text += fmt.Sprintf("padding %.1f%% of %s\n", 100*x.Share, millrace.Quote(x.Tensor))
	}
	return b.Printf("%s", text)
}
