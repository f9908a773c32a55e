package estimator

import "millrace/estimator/training"

// Package training declares the types of trainings and evaluations.
type (
	// TrainOptions says what [Train] trains and what it writes.
	TrainOptions = training.Options
	// TrainResult is what a training came to.
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
	// Step is a step that was made.
	Step = training.Step
	// Progress is what a training did since the last Progress.
	Progress = training.Progress
	// Saved is a checkpoint that was written.
	Saved = training.Saved
	// Evaluated is an evaluation that has ended.
	Evaluated = training.Evaluated
	// Trained lists what a training with an [Objective] changes and what it leaves alone.
	Trained = training.Trained
	// TrainedVariable is a variable that the optimizer changes.
	TrainedVariable = training.TrainedVariable
	// UntrainedVariable is a variable that the signature reads and the optimizer does not
	// change.
	UntrainedVariable = training.UntrainedVariable
	// NamedTensor is a tensor with the name of what it is the value of.
	NamedTensor = training.NamedTensor

	// Metric is one metric of an evaluation.
	Metric = training.Metric
	// EvaluateOptions says what an evaluation computes.
	EvaluateOptions = training.EvaluateOptions
	// Evaluation is what an evaluation found.
	Evaluation = training.Evaluation
	// Evaluator is [Evaluate] to be done more than once.
	Evaluator = training.Evaluator
)

// Why a training ended.
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
