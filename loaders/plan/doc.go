// Package plan decides how a checked config is run. A [Plan] decides which records are
// parsed at once, which stages change places and which of Millrace's own operations do
// the work. It prints the decisions and their reasons as text or JSON. The package also
// looks at data files before TensorFlow does. It needs no TensorFlow.
//
//	p := plan.New(s, nil)
//	fmt.Print(p.Explain())
//	scan, err := p.Scan(ctx)
package plan
