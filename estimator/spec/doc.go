// Package spec reads run configs: what to train, on which data, how to evaluate it and
// when to stop. It reports all problems in a run config, its loaders and its model at
// once, with their places, and needs no TensorFlow.
//
//	run, problems := spec.Check("run.json", nil)
//	if run == nil {
//		return problems
//	}
//	fmt.Println(run.TrainPlan.Rows(nil))
package spec
