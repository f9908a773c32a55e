// Package policy decides whether the graph of a model may run: by the operations,
// functions, constants and attributes that it contains. Package savedmodel reports its
// decisions to users.
//
//	c := policy.New(graph, report, allowed)
//	err := c.CheckCalls()
//	restored, err := c.Check(false, nil)
package policy
