// Package inputcheck inserts an operation that checks bytes before each operation of a
// GraphDef that parses them: serialized Examples, tensors and images. So bytes that
// would end the process never reach TensorFlow's parsers:
//
//	def, err := inputcheck.Insert(def, inputcheck.Options{}) // the graph to import
//	inputcheck.Remove(g)                                    // a graph for other programs
//
// Package tfbridge has the operations, packages example and bytecheck the rules.
package inputcheck
