// Package image is tf.image for Go. TensorFlow's operations read, change and write
// images in a graph.
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
//	picture := image.ReadFile(s, "cat.jpg", nil).Resize(224, 224, nil).PerImageStandardization()
//
// An [Image] is one image of shape [height, width, channels] or a batch of them
// of shape [batch, height, width, channels]. Pixel values are as in Python: an
// integer type ranges from 0 to its greatest value, a floating-point type from 0 to
// 1. A method whose operation needs the other form converts there and back.
//
// As everywhere in package graph, building returns no errors: the first failure
// sticks to the scope, and methods do nothing after it.
package image
