// Package failedscope tests the results of functions of the graph packages after the
// first failure of a scope. A program that builds a graph checks for the failure once,
// at the end. Until then it uses the results of the failed calls: it indexes lists,
// reads fields and calls methods. None of that may panic or change the failure.
//
// The package only has the table of these functions and its tests.
package failedscope

// function is an exported function of a package.
type function struct {
	name  string
	value any
}
