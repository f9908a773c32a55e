// Package judge puts an operation that judges bytes before each operation of a
// GraphDef that parses them: serialized Examples, tensors and
// images. So nothing that would end the process reaches TensorFlow's parsers:
//
//	def, err := judge.Insert(def, judge.Options{}) // what is imported
//	judge.Remove(g)                  // what is written for others
//
// Package tfbridge has the operations, packages example and bytecheck the rules.
package judge
