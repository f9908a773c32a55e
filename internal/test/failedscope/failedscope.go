// Package failedscope tests what functions of the graph packages hand out after the
// first failure of a scope. A program that builds a graph asks for the failure once, at
// the end. Until then it uses what the failed calls return: it indexes lists, reads
// fields and calls methods. None of that may panic or change the failure.
//
// The package holds nothing but the table of those functions and its tests.
package failedscope

// function is an exported function of a package.
type function struct {
	name  string
	value any
}
