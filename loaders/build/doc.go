// Package build adds a plan to a TensorFlow graph, as stages of tf.data and an
// iterator over them. The stages that loader types share stand in files named
// after them; what one type does alone is in the file of its name, behind the
// interface in loader.go.
package build
