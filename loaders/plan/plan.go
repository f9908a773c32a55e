package plan

import (
	"maps"
	"slices"

	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/order"
)

// Plan is a checked loader config with the decisions about how to run it. Each decision
// is a method, which computes it from the fields alone: the same fields give the same
// stages. [New] makes a plan. It is read-only and may be shared between goroutines.
type Plan struct {
	*spec.Spec

	// CheckRecords has [Plan.Scan] compare every record of the local files with the
	// manifest, so that a bad one is found before the first batch. It costs a pass over
	// the data. It is stricter than the loader: a record must be valid protobuf, while
	// TensorFlow's parsers and ours accept some faults.
	CheckRecords bool

	// NativeLibrary is the path of the library of Millrace's own dataset
	// operations. If it is empty, Go reads the files, and TensorFlow's operations
	// do the rest.
	NativeLibrary string

	// Quarantine is the path of the ledger that lists the records that are left out; see
	// package quarantine. If it is empty, no ledger is written.
	Quarantine string

	// DigestRecords makes [Plan.Scan] read the checksum of every record that no index
	// covers, so that [Scan.Digest] distinguishes these data from others.
	DigestRecords bool

	// RecordsChecked says that every record was found good before, so that nothing checks
	// them while a graph runs: see [engine.Choice.Checked].
	RecordsChecked bool

	// RecordsSkipped says that bad records were found before, and that operations skip
	// them: see [engine.Choice.Skips].
	RecordsSkipped bool

	// TimeStages has TensorFlow measure how long each dataset of the pipeline works,
	// which itself takes time. The batches are the same. It turns on tf.data's
	// autotuner, which may make the buffer of batches larger. States that such a
	// pipeline saves cannot be restored by one that is not measured.
	TimeStages bool
}

// Options are the inputs of a plan in addition to the config. With nil or the zero
// value no record is checked beforehand and the native library is not used.
type Options struct {
	CheckRecords  bool   // see [Plan.CheckRecords]
	Quarantine    string // see [Plan.Quarantine]
	NativeLibrary string // see [Plan.NativeLibrary]
}

// New plans how to run a checked config.
func New(s *spec.Spec, o *Options) *Plan {
	if o == nil {
		o = &Options{}
	}
	return &Plan{Spec: s, CheckRecords: o.CheckRecords, Quarantine: o.Quarantine, NativeLibrary: o.NativeLibrary}
}

// Engine returns the choice that decides which engine runs the plan's stages.
func (p *Plan) Engine() engine.Choice {
	return engine.Choice{Spec: p.Spec, Own: p.NativeLibrary != "", Timed: p.TimeStages, Checked: p.RecordsChecked, Skips: p.RecordsSkipped}
}

// clone returns a copy whose fields can be changed.
func (p *Plan) clone() *Plan {
	q, s := *p, *p.Spec
	q.Spec = &s
	return &q
}

// FirstWindow returns the plan of one pass over the files in order, for finding
// out whether there is a window at all. It keeps windows that the end of a file
// cuts short, since in a later epoch they may be drawn shorter.
func (p *Plan) FirstWindow() *Plan {
	q, window := p.clone(), *p.Window
	if window.Tail != spec.TailPad {
		window.Tail = spec.TailKeep
	}
	q.Window, q.Shuffle = &window, nil
	return q
}

// OfRequests returns the plan for records that arrive a few at a time, in batches
// of any size, and not from files.
func (p *Plan) OfRequests() *Plan {
	return WithoutFilters(OfRecords(p))
}

// OfRecords returns the plan for records that do not come from files.
func OfRecords(p *Plan) *Plan {
	q := p.clone()
	q.Files, q.Shuffle, q.Records, q.Bucket, q.BadRecords, q.BatchSteps = nil, nil, nil, nil, nil, nil
	q.DropRemainder, q.Epochs = false, 1
	return q
}

// WithoutFilters returns the plan that keeps the examples that filters do not keep: each row of a
// request gets an answer.
func WithoutFilters(p *Plan) *Plan {
	q := p.clone()
	q.Steps = slices.DeleteFunc(slices.Clone(q.Steps), spec.Step.Filters)
	return q
}

// Only returns the plan that gives some of the tensors, and reads and does what these need. Without
// names it gives all of them.
func Only(p *Plan, tensors []string) *Plan {
	if len(tensors) == 0 {
		return p
	}
	q := p.clone()
	needed := map[string]bool{}
	for _, name := range tensors {
		needed[name] = true
	}
	q.Measures = slices.DeleteFunc(slices.Clone(q.Measures), func(m spec.Measure) bool { return !needed[m.To] })
	for _, m := range q.Measures {
		needed[m.Tensor] = true
	}
	outputs := maps.Clone(needed)
	q.BatchedSteps = neededSteps(p.BatchedSteps, needed)
	joined := maps.Clone(needed)
	q.Steps = neededSteps(p.Steps, needed)
	q.Secondaries = slices.DeleteFunc(slices.Clone(q.Secondaries), func(c spec.Const) bool { return !needed[c.To] })
	for _, c := range q.Secondaries {
		needed[c.ShapeFrom] = true
	}
	q.Primaries = slices.DeleteFunc(slices.Clone(q.Primaries), func(f spec.Primary) bool { return !needed[f.To] })
	if len(q.Primaries) == 0 {
		q.Primaries = p.Primaries[:1] // the number of rows comes from one
	}
	q.Features = slices.DeleteFunc(slices.Clone(q.Features), func(f *spec.Feature) bool {
		return !slices.ContainsFunc(q.Primaries, func(primary spec.Primary) bool { return primary.From == f })
	})
	q.Tensors, q.Padding = someOf(p.Tensors, p.Padding, outputs)
	if p.Unbatched != nil {
		q.Unbatched = &spec.Unbatched{}
		q.Unbatched.Tensors, q.Unbatched.Padding = someOf(p.Unbatched.Tensors, p.Unbatched.Padding, joined)
	}
	return q
}

// neededSteps returns the steps that make tensors which are needed. It replaces the needed tensors by
// those that are needed before the steps.
func neededSteps(all []spec.Step, needed map[string]bool) (steps []spec.Step) {
	for _, s := range slices.Backward(all) {
		if s.Writes == "" || !needed[s.Writes] {
			continue // a filter, a drop, or a tensor that nobody needs
		}
		if !slices.Contains(s.Reads, s.Writes) {
			delete(needed, s.Writes)
		}
		for _, name := range s.Reads {
			needed[name] = true
		}
		s.Drops = nil
		steps = append(steps, s)
	}
	slices.Reverse(steps)
	return steps
}

// someOf returns the tensors with some names, and how they are padded.
func someOf(all []spec.TensorSpec, pads []spec.Pad, names map[string]bool) (tensors []spec.TensorSpec, padding []spec.Pad) {
	for i, t := range all {
		if !names[t.Name] {
			continue
		}
		tensors = append(tensors, t)
		if pads != nil {
			padding = append(padding, pads[i])
		}
	}
	return tensors, padding
}

// Portable returns the plan of requests that needs TensorFlow's operations alone.
func Portable(p *Plan) *Plan {
	q := p.OfRequests()
	q.NativeLibrary = ""
	return q
}

// FirstEpoch returns the plan of one epoch in batches of one example, for finding out whether
// filters keep any.
func FirstEpoch(p *Plan) *Plan {
	q := p.clone()
	q.Spec = q.OfExamples()
	q.Epochs, q.BatchSize, q.DropRemainder, q.Bucket, q.Prefetch = 1, 1, false, nil, 0
	q.BatchSteps = p.BatchSteps
	return q
}

// InFileOrder returns a plan that reads the examples of a plan that
// [engine.Choice.Seeks] by their place, in the order of the files.
func (p *Plan) InFileOrder() *Plan {
	q := p.clone()
	q.Spec = order.InFile(p.Spec)
	return q
}

// MeasureTime returns the plan with [Plan.TimeStages] set, for one epoch: the datasets
// that read an epoch are made again for each epoch, and would count only from its
// start.
func (p *Plan) MeasureTime() *Plan {
	q := p.clone()
	q.TimeStages, q.Epochs = true, 1
	return q
}
