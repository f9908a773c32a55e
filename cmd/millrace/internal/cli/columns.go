package cli

import (
	"millrace/dtype"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/tfbridge"
)

// Columns returns a batch's tensors as columns to write. It reuses the slice of
// an earlier batch. The columns share the tensors' memory.
func Columns(reuse []output.Column, b *loaders.Batch) ([]output.Column, error) {
	cols := reuse[:0]
	for _, name := range b.Names() {
		c, err := column(name, b.Tensor(name))
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return cols, nil
}

func column(name string, t *tfbridge.Tensor) (output.Column, error) {
	c := output.Column{Name: name, DType: t.DataType(), Shape: t.Shape()}
	var err error
	switch {
	case c.DType == dtype.String:
		c.Strings, err = t.Strings()
	case c.DType.Size() > 0: // package output refuses the others
		c.Data, err = t.Bytes()
	}
	return c, err
}

// Specs returns the tensors of a plan's batches, with the shapes of an example.
func Specs(plan *loaders.Plan) []dtype.TensorSpec {
	var specs []dtype.TensorSpec
	for _, t := range plan.Tensors {
		specs = append(specs, dtype.TensorSpec{Name: t.Name, DType: t.DType, Shape: dtype.MakeShape(t.Shape...)})
	}
	return specs
}
