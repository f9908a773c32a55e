package main

import (
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
	"millrace/tfbridge"
)

// source reads records, one at a time, and remembers the key of the last one: when a
// decoder fails, TensorFlow's error does not say on which record. The key is a variable
// of the graph, so that records do not pass through Go. Each goroutine has its own
// source, even if several share a reader.
type source struct {
	key  tfbridge.Output
	last tfbridge.Output // reads the variable
}

// newSource adds a source. It returns the source and the record.
func newSource(s *graph.Scope, r *reader.Reader, files *queue.Queue) (*source, tfbridge.Output) {
	s = s.SubScope("source")
	variable := s.Op1("VarHandleOp", map[string]any{
		"dtype": tfbridge.String, "shape": tfbridge.ScalarShape(), "shared_name": s.Prefix() + "key",
	})
	assign := func(s *graph.Scope, value tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{variable, value}})
	}
	forget := assign(s, s.Const("")) // a failed read has no record
	key, record := r.Read(s.WithControlDependencies(forget), files)
	remember := assign(s, key)
	record = graph.Identity(s.WithControlDependencies(remember), record)
	return &source{key: key, last: s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.String}, variable)}, record
}

// lastKey returns the key of the record that was read last, "" if none was.
func (c *source) lastKey(session *tfbridge.Session) (string, error) {
	values, err := session.Run(nil, []tfbridge.Output{c.last}, nil)
	if err != nil {
		return "", err
	}
	defer values[0].Close()
	return values[0].Value().(string), nil
}
