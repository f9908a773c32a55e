package batching

import (
	"crypto/sha256"
	"encoding/binary"

	"millrace/tfbridge"
)

/*
Requests that cannot share a batch

What a model computes without batching it computes with batching. A request runs alone, in
the queue and in a thread like all others but without company, if

  - an input is a scalar, or the inputs differ in their first dimension: the values of a
    ragged or sparse tensor beside its row splits or its dense shape, unless the model's
    owner names them: see composite.go;
  - it has more rows than a batch, and is not split;
  - a batch of its signature had outputs without the rows of the batch: a mean over all
    rows, whose shape the signature leaves open. That batch is run again, part by part.

The model gets such a request as it came, not filled up to an allowed size.
*/

// aloneKey is the beginning of the keys of groups of one request. Other keys begin with
// a number of dimensions.
const aloneKey = 0xff

// separate runs the parts of a batch one by one, after its outputs had no rows.
func (b *batch) separate(inputs []*tfbridge.Tensor) {
	b.apart = true
	b.errs = make([]error, len(b.parts))
	start := int64(0)
	for i, p := range b.parts {
		b.errs[i] = b.runApart(inputs, p, start)
		start += p.rows
	}
}

// runApart runs the model on the rows of one part, which begin with row start. It reads the
// joined tensors: a request that has left may have closed its own.
func (b *batch) runApart(inputs []*tfbridge.Tensor, p *part, start int64) error {
	some := make([]*tfbridge.Tensor, len(inputs))
	defer func() { closeAll(some) }()
	for i := range inputs {
		var err error
		if some[i], err = b.queue.cutInput(inputs, i, start, p.rows, p.rows); err != nil {
			return err
		}
	}
	outputs, err := b.call(some)
	if err != nil {
		return err
	}
	if !p.whole() {
		if err := b.queue.signature.checkOutputs(outputs, p.rows); err != nil {
			closeAll(outputs)
			return err // the parts of a split request could not be joined
		}
	}
	share([]*part{p}, outputs, p.rows)
	return nil
}

// fits reports whether an operand has the dimensions that a shape knows, except for
// rows. Padding an operand that does not fit would spoil the batch for the others.
func (o *operand) fits(s tfbridge.Shape) bool {
	if n := s.NumDimensions(); n >= 0 && n != len(o.shape) {
		return false
	}
	for d := 1; d < s.NumDimensions(); d++ {
		if n := s.Size(d); n >= 0 && n != o.shape[d] {
			return false
		}
	}
	return true
}

// appendContent appends bytes to a key that are equal for operands of the same shape
// and elements.
func appendContent(key []byte, o *operand) ([]byte, error) {
	key = append(key, byte(len(o.shape)))
	for _, n := range o.shape {
		key = binary.AppendVarint(key, n)
	}
	h := sha256.New()
	if o.dtype == tfbridge.String {
		texts, err := o.tensor.Strings()
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			h.Write(binary.AppendUvarint(nil, uint64(len(text))))
			h.Write([]byte(text))
		}
		return h.Sum(key), nil
	}
	raw := o.bytes
	if o.isTensor {
		var err error
		if raw, err = o.tensor.Bytes(); err != nil {
			return nil, err
		}
	}
	h.Write(raw)
	return h.Sum(key), nil
}

// firstDimension returns the first dimension of a tensor, 0 for a scalar.
func firstDimension(t *tfbridge.Tensor) int64 {
	var room [8]int64
	if shape := t.AppendShape(room[:0]); len(shape) > 0 {
		return shape[0]
	}
	return 0
}
