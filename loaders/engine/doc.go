// Package engine decides which engine runs which stages of a checked config: Millrace's own
// operations, Go, which feeds records to a graph, or TensorFlow's operations. It also
// decides what a state of a run must hold, and how much is done at once.
//
//	c := engine.Choice{Spec: s, Own: true}
//	for _, r := range c.Rewrites() {
//		fmt.Println(r.Name, r.Applied, r.Why)
//	}
//
// # One table
//
// The question: an operation of our own does the work of several stages at once, up to
// all from the files to the batches. Which stages can it do for a config, and how is
// the decision explained to the user?
//
// The earlier design was a method for each decision, a switch in each method, and
// sentences between the cases. To add a loader type all of them had to be changed.
//
// The answer: the decisions are one table ([Choice.Rewrites] prints it). A rewrite has
// rules, the first that matches a plan decides, and its reason is what `millrace plan`
// prints. So a reason cannot differ from the decision. A rule may be about one stage, as
// most of the rules about Millrace's own operations are:
//
//	stage    Millrace's own operations                        else
//	------   ----------------------------------------------   --------------------------
//	files    if the library is there, remote ones too         Go, never remote ones
//	check    where every record is good that can be decoded   Go
//	parse    if the library is there                          TensorFlow, what Go accepts
//	window   numbers of one size a record, in file order      TensorFlow
//	chunks   always; from plain files in their order at once  TensorFlow, cut as Go says
//	bucket   records whose tensors are what they store        TensorFlow
//
// The package needs no TensorFlow.
package engine
