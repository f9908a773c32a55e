// Package image is tf.image for Go: images are read, changed and written by
// TensorFlow's own operations, in a graph.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	picture := image.ReadFile(s, "cat.jpg", nil).Resize(224, 224, nil).PerImageStandardization()
//
// An [Image] is one image of shape [height, width, channels] or a batch of them
// of shape [batch, height, width, channels]. What a pixel holds is as in
// Python: of an integer type from 0 to its greatest value, of a floating-point
// type from 0 to 1. Methods convert where an operation needs the other form,
// and back.
//
// As everywhere in package graph, building returns no errors: the first failure
// sticks to the scope, and methods do nothing after it.
package image
