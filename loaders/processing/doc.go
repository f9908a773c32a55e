// Package processing declares processing steps: types with their arguments, the checks
// of the arguments, and the operations that carry a step out on one example. Each type
// is a file in the folder of its family, and a line of the table in package catalog.
//
//	type ScaleArgs struct {
//		decl.Object
//		Factor float64 `json:"factor" decl:"default=1" doc:"What each value is multiplied with."`
//	}
//
//	func (a *ScaleArgs) Check(c *processing.Context) processing.Step {
//		t, ok := c.Numbers()
//		if !ok {
//			return nil
//		}
//		return processing.Map{…}
//	}
//
// # One file for a step
//
// The question: a step is declared, documented, checked, printed and built. These were
// files in three packages, because the packages that check a config must not build graphs.
// Sixty steps would be two hundred files.
//
// The answer: checking is a method that returns a value, and building is a method of
// this value. Package spec calls the first one only, so it still needs no TensorFlow;
// package loaders/build/process calls the second one with a graph. A step sees one
// example. The caller decides whether it is built on whole batches. It may do so for a
// step that is [Elementwise], [Batched] or [Rows], and the values are the same. A batch
// costs one call in place of one for each example, which for short texts and tables takes
// longer than the work itself.
package processing
