// Package policy decides whether the graph of a model may run: which operations it may
// hold, and which functions, constants and attributes. Package savedmodel says what its
// answers mean for users.
//
//	c := policy.New(graph, report, allowed)
//	err := c.CheckCalls()
//	restored, err := c.Check(false, nil)
package policy
