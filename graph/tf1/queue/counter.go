package queue

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// counter is an int64 of the session that needs no initialization: the value of the key
// 0 in a table. Only one run at a time changes it, inside a monitor. The methods of a
// nil counter add nothing.
type counter struct{ table tfbridge.Output }

// newCounter adds a counter. Counters of one session with the same name are the same.
func newCounter(s *graph.Scope, name string) *counter {
	return &counter{newTable(s, name)}
}

// newTable adds a table of int64 by int64.
func newTable(s *graph.Scope, name string) tfbridge.Output {
	return onHost(s).Op1("MutableHashTableV2", map[string]any{"key_dtype": tfbridge.Int64, "value_dtype": tfbridge.Int64, "shared_name": name})
}

// value adds an operation that reads the counter.
func (c *counter) value(s *graph.Scope) tfbridge.Output {
	zero := s.Const(int64(0))
	return onHost(s).Op1("LookupTableFindV2", nil, c.table, zero, zero)
}

// set adds an operation that sets the counter.
func (c *counter) set(s *graph.Scope, value tfbridge.Output) *tfbridge.Operation {
	return onHost(s).AddOperation(tfbridge.OpSpec{Type: "LookupTableInsertV2", Input: []tfbridge.Input{c.table, s.Const(int64(0)), value}})
}

// add adds an operation that adds n to the counter.
func (c *counter) add(s *graph.Scope, n tfbridge.Output) *tfbridge.Operation {
	if c == nil || s.Err() != nil {
		return nil
	}
	return c.set(s, graph.Add(onHost(s), c.value(s), n))
}

// subtract adds an operation that subtracts the bytes of values from the counter.
func (c *counter) subtract(s *graph.Scope, values []tfbridge.Output) *tfbridge.Operation {
	if c == nil || s.Err() != nil {
		return nil
	}
	return c.set(s, graph.Sub(onHost(s), c.value(s), bytesOf(onHost(s), values)))
}

// clear adds an operation that sets the counter to 0.
func (c *counter) clear(s *graph.Scope) *tfbridge.Operation {
	if c == nil || s.Err() != nil {
		return nil
	}
	return c.set(s, s.Const(int64(0)))
}

// stringBytes is the number of bytes that TensorFlow needs for a string, in addition to
// its content.
const stringBytes = 24

// bytesOf adds operations that count the bytes of values, as TensorFlow's staging
// areas do: a scalar int64.
func bytesOf(s *graph.Scope, values []tfbridge.Output) tfbridge.Output {
	total := s.Const(int64(0))
	for _, v := range values {
		size, dtype := int64(stringBytes), v.DataType()
		if dtype != tfbridge.String {
			size = int64(dtype.Size())
		}
		n := s.Op1("Size", map[string]any{"out_type": tfbridge.Int64}, v)
		total = graph.Add(s, total, graph.Mul(s, n, s.Const(size)))
		if dtype == tfbridge.String {
			lengths := graph.Cast(s, graph.StringLength(s, v), tfbridge.Int64)
			total = graph.Add(s, total, graph.ReduceSum(s, lengths))
		}
	}
	return total
}
