package size

import (
	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
	"millrace/loaders/spec"
)

// A config of a few lines can need more memory than there is: constants and paddings
// are as large as it says, however small the records are. The kernel kills a process
// that uses too much, without a message, so the config is compared with the free memory
// before TensorFlow allocates anything. The comparison uses a lower bound: the size of
// the batches that exist at the same time. It does not count buffers whose filling
// depends on the data, such as the shuffle buffer.

// need is a lower bound of the memory that a run allocates.
type need struct {
	bytes   int64
	batches int64  // batches that exist at the same time
	rows    int64  // rows of each batch
	largest string // the tensor that takes most memory
	most    int64  // its bytes in one batch
}

// CheckMemory returns an error if the batches of a run need more memory than there is.
// rows is how many examples the run gives, if that is known.
func CheckMemory(s *spec.Spec, rows int64, known bool, have machine.Memory) error {
	need := memory(s, rows, known)
	if need.bytes <= have.Bytes {
		return nil
	}
	e := millrace.Errorf(millrace.ErrLimit, "%s of %s need at least %s, and %s %s; this tensor takes %s of each batch: "+
		"give it a smaller shape or padding, or lower args.target_batch_size or args.num_prefetch",
		figures.Plural(need.batches, "batch", "batches"), figures.Of(need.rows, "example"), figures.Size(need.bytes),
		have.Bound, figures.Size(have.Bytes), figures.Size(need.most))
	e.Loader, e.Tensor = s.Path, need.largest
	return e
}

// memory returns the lower bound. Where the number of examples is not known, it
// is that of one example, unless they come without end.
func memory(s *spec.Spec, rows int64, known bool) need {
	n := need{rows: 1, batches: 1}
	switch {
	case s.Chunks != nil:
	case known && rows == 0:
		return need{}
	case known:
		n.rows = min(rows, s.BatchSize)
		n.batches = min((rows-1)/n.rows, s.Prefetch) + 1
	case s.Epochs == 0 && s.Bucket == nil:
		n.rows, n.batches = s.BatchSize, s.Prefetch+1
	}
	constants := constantBytes(s)
	for i := range s.Tensors {
		bytes := Multiply(Tensor(s, i), n.rows)
		n.bytes = Add(n.bytes, Multiply(bytes, n.batches))
		constant := Multiply(constants[s.Tensors[i].Name], n.rows)
		if constant > bytes { // it is sliced after it is made
			n.bytes, bytes = Add(n.bytes, constant), constant
		}
		if bytes >= n.most {
			n.largest, n.most = s.Tensors[i].Name, bytes
		}
	}
	return n
}

// constantBytes returns the bytes of the constants whose shapes the config gives,
// before the processing steps.
func constantBytes(s *spec.Spec) map[string]int64 {
	bytes := map[string]int64{}
	for _, c := range s.Secondaries {
		if c.ShapeFrom == "" {
			bytes[c.To] = Of(c.DType, c.Shape)
		}
	}
	return bytes
}
