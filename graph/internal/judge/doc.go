// Package judge puts an operation that judges serialized Examples before each
// operation of a GraphDef that parses them, so that no record that would end the
// process reaches TensorFlow's parsers:
//
//	def, err := judge.Insert(def) // what is imported
//	judge.Remove(g)               // what is written for others
//
// Package tfbridge has the operation, package example the rule.
package judge
