package estimator

import "millrace/estimator/training"

// Types of package training, which declares trainings and evaluations.
type (
	// TrainOptions says what [Train] trains and what it writes.
	TrainOptions = training.Options
	// TrainResult is the result of a training.
	TrainResult = training.Result
	// StepRange are steps of a training, counted from its very beginning.
	StepRange = training.StepRange
	// Best says by which metric one checkpoint is better than another.
	Best = training.Best
	// Stop says when a training stops before its last step.
	Stop = training.Stop
	// Plateau says when a training lowers its learning rate.
	Plateau = training.Plateau

	// Objective says how to train a signature that only predicts.
	Objective = training.Objective
	// Term is one of several losses of an [Objective].
	Term = training.Term

	// Hooks are functions that a training calls.
	Hooks = training.Hooks
	// Step is a completed step.
	Step = training.Step
	// Progress is the progress of a training since the last Progress.
	Progress = training.Progress
	// Saved is a checkpoint that was written.
	Saved = training.Saved
	// Evaluated is an evaluation that has ended.
	Evaluated = training.Evaluated
	// Trained lists the variables that a training with an [Objective] changes, and
	// those that it does not change.
	Trained = training.Trained
	// TrainedVariable is a variable that the optimizer changes.
	TrainedVariable = training.TrainedVariable
	// UntrainedVariable is a variable that the signature reads and the optimizer does not
	// change.
	UntrainedVariable = training.UntrainedVariable
	// NamedTensor is a tensor with the name of the variable or gradient whose value it
	// is.
	NamedTensor = training.NamedTensor

	// Metric is one metric of an evaluation.
	Metric = training.Metric
	// EvaluateOptions are the options of an evaluation.
	EvaluateOptions = training.EvaluateOptions
	// Evaluation is the result of an evaluation.
	Evaluation = training.Evaluation
	// Evaluator evaluates like [Evaluate], more than once.
	Evaluator = training.Evaluator
)

// The reasons why a training ended.
const (
	EndedBySteps   = training.EndedBySteps   // it made TrainOptions.Steps
	EndedByData    = training.EndedByData    // the source ended
	EndedByStop    = training.EndedByStop    // TrainOptions.Stop applied
	EndedByContext = training.EndedByContext // the context ended
)

// Outputs of a signature that was joined with an [Objective].
const (
	LossOutput         = training.LossOutput
	LearningRateOutput = training.LearningRateOutput
)
