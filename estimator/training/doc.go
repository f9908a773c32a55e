// Package training trains and evaluates what was joined to data. Programs call
// estimator.Train, estimator.TrainAndEvaluate and estimator.Evaluate, which join a model and
// have the same types under their own names:
//
//	result, err := estimator.Train(ctx, model, loader, "checkpoints", &training.Options{
//		Objective: &training.Objective{
//			Loss:      losses.Loss{Type: losses.SparseSoftmaxCrossEntropy},
//			Labels:    "label",
//			Optimizer: optimizer.NewAdam(),
//		},
//		Steps: 1000,
//		Hooks: training.Hooks{Logged: func(p *training.Progress) error {
//			log.Printf("step %d: loss %v", p.Step, p.Loss)
//			return nil
//		}},
//	})
//
// A training reads and writes a [Subject]: functions and values that stand for the model. So
// the package knows how steps, checkpoints and evaluations follow each other, and package
// estimator knows what a step computes.
package training
