package plan

import (
	"millrace"
	"millrace/internal/figures"
	"millrace/internal/machine"
	"millrace/loaders/size"
)

// A config of a few lines can ask for more memory than there is: constants and
// paddings are as large as it says, however small the records are. The kernel
// ends a process that uses too much, without a word, so the plan is compared with
// the memory that is left before TensorFlow allocates anything. What is compared
// is a lower bound: what batches hold that are there at the same time. Buffers
// whose filling depends on the data, such as that of the shuffle, do not count.

// memoryNeed is a lower bound of what a plan allocates.
type memoryNeed struct {
	bytes   int64
	batches int64  // there at the same time
	rows    int64  // of each
	largest string // the tensor that takes most
	most    int64  // bytes of it in one batch
}

// checkMemory returns an error if the batches need more memory than there is.
func (p *Plan) checkMemory(scan *Scan, have machine.Memory) error {
	need := p.memory(scan)
	if need.bytes <= have.Bytes {
		return nil
	}
	e := millrace.Errorf(millrace.ErrLimit, "%s of %s need at least %s, and %s %s; this tensor takes %s of each batch: "+
		"give it a smaller shape or padding, or lower args.target_batch_size or args.num_prefetch",
		figures.Plural(need.batches, "batch", "batches"), figures.Of(need.rows, "example"), figures.Size(need.bytes),
		have.Bound, figures.Size(have.Bytes), figures.Size(need.most))
	e.Loader, e.Tensor = p.Path, need.largest
	return e
}

// memory returns the lower bound. Where the number of examples is not known, it
// is that of one example, unless they come without end.
func (p *Plan) memory(scan *Scan) memoryNeed {
	need := memoryNeed{rows: 1, batches: 1}
	switch rows, known := p.Rows(scan); {
	case p.Chunks != nil:
	case known && rows == 0:
		return memoryNeed{}
	case known:
		need.rows = min(rows, p.BatchSize)
		need.batches = min((rows-1)/need.rows, p.Prefetch) + 1
	case p.Epochs == 0 && p.Bucket == nil:
		need.rows, need.batches = p.BatchSize, p.Prefetch+1
	}
	constants := p.constantBytes()
	for i := range p.Tensors {
		bytes := size.Multiply(size.Tensor(p.Spec, i), need.rows)
		need.bytes = size.Add(need.bytes, size.Multiply(bytes, need.batches))
		constant := size.Multiply(constants[p.Tensors[i].Name], need.rows)
		if constant > bytes { // it is sliced after it was made
			need.bytes, bytes = size.Add(need.bytes, constant), constant
		}
		if bytes >= need.most {
			need.largest, need.most = p.Tensors[i].Name, bytes
		}
	}
	return need
}

// constantBytes returns the bytes of the constants whose shapes the config says,
// as they are before the processing steps.
func (p *Plan) constantBytes() map[string]int64 {
	bytes := map[string]int64{}
	for _, c := range p.Secondaries {
		if c.ShapeFrom == "" {
			bytes[c.To] = size.Of(c.DType, c.Shape)
		}
	}
	return bytes
}
