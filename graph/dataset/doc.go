// Package dataset is tf.data for Go: datasets are built in a graph, by
// TensorFlow's own dataset operations, and run by TensorFlow.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	d := dataset.Range(s, 0, 10, 1).
//		Map("double", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
//			return []tfbridge.Output{graph.Add(s, args[0], args[0])}
//		}, nil).
//		Batch(4, false)
//	for element, err := range d.All(ctx, nil) { ... }
//
// An element is a flat list of tensors, its components. Their types and shapes
// ([Dataset.Specs]) come from TensorFlow's own inference.
//
// As everywhere in package graph, building returns no errors: the first
// failure sticks to the scope. After one, methods return datasets without
// components, and functions given to them are not called.
//
// Order is kept unless an option named Sloppy says otherwise.
package dataset
