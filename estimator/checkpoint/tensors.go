package checkpoint

import (
	"context"
	"errors"

	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// TensorFlow's own kernels, SaveV2 and RestoreV2, write and read the files. They run in
// a separate graph and session, so that writing does not use the session that trains.
//
// Python also uses MergeV2Checkpoints: it writes a file on each device and then
// merges the indexes. Here all values come to the host first and go into one
// file, so there is nothing to merge.

// writer writes tensors of fixed names and types.
type writer struct {
	graph   *tfbridge.Graph
	session *tfbridge.Session
	save    *tfbridge.Callable
}

// newWriter returns a writer of tensors with these names and types. Close it.
func newWriter(specs []dtype.TensorSpec) (*writer, error) {
	s := graph.NewScope()
	prefix := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	feeds := []tfbridge.Output{prefix}
	var tensors tfbridge.OutputList
	for _, t := range specs {
		feed := s.Placeholder(t.DType, dtype.Shape{})
		feeds, tensors = append(feeds, feed), append(tensors, feed)
	}
	op := s.AddOperation(tfbridge.OpSpec{Type: "SaveV2", Input: []tfbridge.Input{prefix, s.Const(names(specs)), s.Const(whole(specs)), tensors}})
	g, err := s.Finalize()
	if err != nil {
		return nil, err
	}
	w := &writer{graph: g}
	if w.session, err = tfbridge.NewSession(g, nil); err == nil {
		w.save, err = w.session.Prepare(feeds, nil, []*tfbridge.Operation{op})
		w.save.Inline() // run in the thread that saves, so that no other wakes up
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// write writes the files of a checkpoint.
func (w *writer) write(prefix string, values []*tfbridge.Tensor) error {
	p, err := tfbridge.NewTensor(prefix)
	if err != nil {
		return err
	}
	defer p.Close()
	_, err = w.save.Run(context.Background(), append([]*tfbridge.Tensor{p}, values...))
	return err
}

// WriteTensors writes the files of a checkpoint. It replaces files of that prefix, and
// a failure may leave some, so write where no reader looks yet.
//
// It wraps the operation SaveV2.
func WriteTensors(prefix string, specs []dtype.TensorSpec, values []*tfbridge.Tensor) error {
	w, err := newWriter(specs)
	if err != nil {
		return err
	}
	err = w.write(prefix, values)
	return errors.Join(err, w.close())
}

// close frees session and graph.
func (w *writer) close() error { return errors.Join(w.session.Close(), w.graph.Close()) }

// ReadTensors reads tensors of a checkpoint. Their names and types must be
// those in its index; see [savedmodel.ReadCheckpoint], which also finds damage.
// The caller closes the tensors.
//
// It wraps the operation RestoreV2.
func ReadTensors(prefix string, specs []dtype.TensorSpec) ([]*tfbridge.Tensor, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	s := graph.NewScope()
	var types []tfbridge.DataType
	for _, t := range specs {
		types = append(types, t.DType)
	}
	outputs := s.Op("RestoreV2", map[string]any{"dtypes": types}, s.Const(prefix), s.Const(names(specs)), s.Const(whole(specs)))
	g, err := s.Finalize()
	if err != nil {
		return nil, err
	}
	defer g.Close()
	session, err := tfbridge.NewSession(g, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Run(nil, outputs, nil)
}

// names returns the names of tensors.
func names(specs []dtype.TensorSpec) []string {
	list := make([]string, len(specs))
	for i, t := range specs {
		list[i] = t.Name
	}
	return list
}

// whole returns slice specifications that select all of each tensor.
func whole(specs []dtype.TensorSpec) []string { return make([]string, len(specs)) }

// CloseTensors frees tensors that [ReadTensors] or [Values.Read] returned.
func CloseTensors(list []*tfbridge.Tensor) {
	for _, t := range list {
		t.Close()
	}
}
