package spec

import "millrace/estimator"

// PredictSignature returns the key of the signature that predicts.
func (c *ModelConfig) PredictSignature() string {
	if c.Predict.Signature != "" {
		return c.Predict.Signature
	}
	return estimator.DefaultSignature
}

// TrainSignature returns the key of the signature that trains.
func (c *ModelConfig) TrainSignature() string {
	switch {
	case c.Train.Signature != "":
		return c.Train.Signature
	case len(c.Train.all()) > 0:
		return c.PredictSignature()
	}
	return "train"
}

// LossOutput returns the name of the output that is the loss.
func (c *SignatureConfig) LossOutput() string {
	if c.Loss.A != nil {
		return *c.Loss.A
	}
	return estimator.LossOutput
}

// EvaluateSignature returns the key of the signature that evaluates.
func (c *ModelConfig) EvaluateSignature() string {
	if c.Evaluate.Signature != "" {
		return c.Evaluate.Signature
	}
	return c.PredictSignature()
}
