package loaders

import (
	"millrace/graph/steps"
	"millrace/loaders/build"
	"millrace/loaders/plan"
	"millrace/loaders/run"
	"millrace/loaders/spec"
)

// Plan is a checked config with the decisions how to run it. [Check] makes it.
type Plan = plan.Plan

// Scan is what a look at every data file found. [Prepare] makes it.
type Scan = plan.Scan

// Explanation is a plan in a form to print, or to read by other programs as JSON.
type Explanation = plan.Explanation

// Counts is how much there is to read, as far as index files tell.
type Counts = plan.Counts

// ModelNames are the tensors that a model takes and gives.
type ModelNames = spec.ModelNames

// TensorSpec is a tensor as far as it is known before the data is read.
type TensorSpec = spec.TensorSpec

// NamedOutput is a tensor of a graph under the name that its users know.
type NamedOutput = steps.NamedOutput

// Pipeline is a plan that was built into a graph. [Build] makes it.
type Pipeline = run.Pipeline

// Processing is what a plan does to records, in a graph. [BuildProcessing] makes it.
type Processing = build.Processing

// RunOptions says what a run over a pipeline fetches.
type RunOptions = steps.Options

// Batch is one step's tensors by name.
type Batch = steps.Batch

// Waste adds up how much of padded tensors is padding. [MeasurePadding] makes it.
type Waste = run.Waste

// TensorWaste is how much of a tensor is padding.
type TensorWaste = run.TensorWaste
