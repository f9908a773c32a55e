package checkpoint

import (
	"context"
	"slices"
	"sync"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// Values reads and sets the variables and tables of a session. [NewValues] makes one.
// Its methods must not run during a step that changes variables.
type Values struct {
	variables []Variable
	read      *tfbridge.Callable
	assign    *tfbridge.Callable
}

// NewValues adds operations that read and set variables to the graph of s,
// which is the session's.
func NewValues(s *graph.Scope, session *tfbridge.Session, variables []Variable) (*Values, error) {
	v := &Values{variables: variables}
	if len(variables) == 0 {
		return v, nil
	}
	var reads, feeds []tfbridge.Output
	var assigns []*tfbridge.Operation
	for _, w := range variables {
		feeds = append(feeds, s.Placeholder(w.DType, dtype.Shape{}))
	}
	for i, w := range variables {
		switch {
		case w.Half == Keys && i+1 < len(variables):
			halves, assign := accessTable(s, w, variables[i+1].DType, feeds[i:i+2])
			reads, assigns = append(reads, halves...), append(assigns, assign)
		case w.Half == NoTable:
			read, assign := w.access(s, feeds[i])
			reads, assigns = append(reads, read), append(assigns, assign)
		}
	}
	err := s.Err()
	if err == nil {
		v.read, err = session.Prepare(nil, reads, nil)
		v.read.Inline() // it only returns existing values
	}
	if err == nil {
		v.assign, err = session.Prepare(feeds, nil, assigns)
	}
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "read and set the model's variables: %w", err)
	}
	return v, nil
}

// access adds operations that read and set a variable.
func (w Variable) access(s *graph.Scope, value tfbridge.Output) (tfbridge.Output, *tfbridge.Operation) {
	if w.Handle.DataType() != tfbridge.Resource {
		assign := s.AddOperation(tfbridge.OpSpec{Type: "Assign", Input: []tfbridge.Input{w.Handle, value}})
		return s.Op1("DeepCopy", nil, w.Handle), assign
	}
	assign := s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{w.Handle, value}})
	return s.Op1("ReadVariableOp", map[string]any{"dtype": w.DType}, w.trained()), assign
}

// accessTable adds operations that read and set a table. TensorFlow's
// MutableDenseHashTable returns its own buffers, which the next insertion changes, and
// keeps using the buffers that it receives. So both are copied.
func accessTable(s *graph.Scope, keys Variable, valueType dtype.DataType, halves []tfbridge.Output) ([]tfbridge.Output, *tfbridge.Operation) {
	in := []tfbridge.Input{keys.Handle}
	for _, half := range halves {
		in = append(in, s.Op1("DeepCopy", nil, half))
	}
	assign := s.AddOperation(tfbridge.OpSpec{Type: "LookupTableImportV2", Input: in})
	out := s.Op("LookupTableExportV2", map[string]any{"Tkeys": keys.DType, "Tvalues": valueType}, keys.Handle)
	for i := range out {
		out[i] = s.Op1("DeepCopy", nil, out[i])
	}
	return out, assign
}

// Specs returns names, data types and shapes of the variables.
func (v *Values) Specs() []dtype.TensorSpec {
	specs := make([]dtype.TensorSpec, len(v.variables))
	for i, w := range v.variables {
		specs[i] = w.TensorSpec
	}
	return specs
}

// Read returns the values of the variables at one moment, in the order of Specs. The
// caller closes them. They share memory with the variables, but do not change: an
// operation that changes a variable first copies a shared buffer. So a snapshot costs
// no copy by itself, and the steps after it copy each variable once. Only two kinds of
// values are copied here: tables, and variables of TensorFlow 1, whose operations
// change even shared buffers.
func (v *Values) Read() ([]*tfbridge.Tensor, error) {
	if v.read == nil {
		return nil, nil
	}
	return v.read.Run(context.Background(), nil)
}

// Assign sets the variables to values in the order of Specs. The caller keeps
// the values.
func (v *Values) Assign(values []*tfbridge.Tensor) error {
	if v.assign == nil {
		return nil
	}
	_, err := v.assign.Run(context.Background(), values)
	return err
}

// Restore sets the variables from the tensors of a checkpoint that specs names, in the order
// of Specs. Where a name is empty, the variable keeps its value. Restore holds the lock while
// it sets them.
func (v *Values) Restore(c *Checkpoint, specs []dtype.TensorSpec, lock sync.Locker) error {
	var named []dtype.TensorSpec
	for _, spec := range specs {
		if spec.Name != "" {
			named = append(named, spec)
		}
	}
	if err := c.Match(named); err != nil {
		return err
	}
	read, err := ReadTensors(c.Prefix, named)
	if err != nil {
		return c.Errorf("read the variables: %w", err)
	}
	defer CloseTensors(slices.Clone(read))
	lock.Lock()
	defer lock.Unlock()
	values := read
	if len(named) < len(specs) {
		kept, err := v.Read()
		if err != nil {
			return c.Errorf("set the variables: %w", err)
		}
		defer CloseTensors(kept)
		values = slices.Clone(kept)
		for i, spec := range specs {
			if spec.Name != "" {
				values[i], read = read[0], read[1:]
			}
		}
	}
	if err := v.Assign(values); err != nil {
		return c.Errorf("set the variables: %w", err)
	}
	return nil
}
