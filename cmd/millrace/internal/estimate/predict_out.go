package estimate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace"
	"millrace/estimator"
	"millrace/internal/base/figures"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/tfbridge"
)

// destination is where the outputs of a prediction go.
type destination interface {
	// begin is called when the data files are known. It sets the state from which to
	// resume, or reports that nothing is left to do.
	begin(p *program, j *prediction, scan *loaders.Scan, run *estimator.RunOptions) (complete bool, err error)

	// write writes the rows of a batch, which ends at the state.
	write(cols []output.Column, state []byte) error
	commit(output.Counts) error

	Rows() int64
	Bytes() int64
	Close() error
}

// open opens the destination of a prediction.
func (p *program) open(j *prediction) (destination, error) {
	o := output.Options{
		Overwrite: j.flags.overwrite, Inputs: inputs(j.plan, j.flags.model.Path), Stdout: p.Predictions(),
		Note: func(msg string) { p.Note("%s", msg) },
	}
	if j.flags.parts > 0 {
		return p.openParts(j, o)
	}
	out, err := output.Create(j.flags.out, &o)
	if err != nil {
		return nil, err
	}
	if j.flags.out != output.Stdout {
		p.SetUnfinished(millrace.Quote(j.flags.out) + " is not written")
	}
	return &oneFile{out}, nil
}

// oneFile is an output in one file, or standard output.
type oneFile struct{ *output.File }

func (f *oneFile) begin(_ *program, j *prediction, _ *loaders.Scan, _ *estimator.RunOptions) (bool, error) {
	f.Expect(j.columns())
	return false, nil
}

func (f *oneFile) write(cols []output.Column, _ []byte) error { return f.Write(cols) }

func (f *oneFile) commit(output.Counts) error { return f.Commit() }

// inParts is an output in parts.
type inParts struct{ *output.Parts }

// openParts opens an output in parts. If a config has no seed, the prediction uses the
// seed that was drawn when its output was started.
func (p *program) openParts(j *prediction, o output.Options) (destination, error) {
	parts, err := output.OpenParts(j.flags.out, &output.PartsOptions{Options: o, Batches: j.flags.parts, Columns: j.columns()})
	if err != nil {
		return nil, err
	}
	p.SetUnfinished(millrace.Quote(j.flags.out) + " is not complete; the same command goes on with it")
	if seed, err := strconv.ParseInt(parts.Job()["seed"], 10, 64); err == nil && !j.plan.SeedGiven {
		j.plan.Seed = seed
	}
	j.plan.DigestRecords = true
	return &inParts{parts}, nil
}

func (f *inParts) begin(p *program, j *prediction, scan *loaders.Scan, run *estimator.RunOptions) (complete bool, err error) {
	job, err := j.job(scan)
	if err != nil {
		return false, err
	}
	run.State, complete, err = f.Begin(job, j.flags.overwrite)
	switch {
	case err != nil:
		return false, err
	case complete:
		p.Note("%s is complete already", millrace.Quote(j.flags.out))
	case f.Whole() > 0:
		p.Note("%s: going on behind %s, %s", millrace.Quote(j.flags.out),
			figures.Plural(int64(f.Whole()), "whole part", "whole parts"), figures.Of(f.Rows(), "record"))
	}
	return complete, nil
}

func (f *inParts) write(cols []output.Column, state []byte) error { return f.Write(cols, state) }

func (f *inParts) commit(c output.Counts) error { return f.Commit(c) }

// job describes the inputs of the output in parts. A later process can continue the
// output only with the same inputs.
func (j *prediction) job(scan *loaders.Scan) (output.Job, error) {
	model, err := j.checked.Saved().Digest()
	if err != nil {
		return nil, err
	}
	config, err := j.plan.ConfigDigest()
	if err != nil {
		return nil, err
	}
	signature, err := j.checked.Signature("")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range j.outputs {
		names = append(names, t.Name)
	}
	text := slices.Sorted(slices.Values(j.flags.text.Names()))
	job := output.Job{
		"model": model, "signature": signature.Name, "tensorflow": tfbridge.Version(),
		"config": config, "manifest": j.plan.Manifest.SHA256, "data": scan.Digest(), "seed": strconv.FormatInt(j.plan.Seed, 10),
		"outputs": quoted(names), "kept tensors": quoted(j.flags.config.Keep), "text tensors": quoted(text),
		"batches a part": strconv.FormatInt(j.flags.parts, 10),
	}
	if j.flags.provenance.Given {
		job["provenance"] = "given"
	}
	return job, nil
}

// quoted joins names so that no two lists give the same text.
func quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%q", name))
	}
	return strings.Join(list, " ")
}
