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

// Scan is the result of looking at every data file. [Prepare] makes it.
type Scan = plan.Scan

// Explanation is a plan in a form to print, or to read by other programs as JSON.
type Explanation = plan.Explanation

// Counts are the amounts of data to read, as far as index files give them.
type Counts = plan.Counts

// ModelNames are the input and output tensors of a model.
type ModelNames = spec.ModelNames

// TensorSpec is the dtype and shape of a tensor, as far as they are known before the
// data is read.
type TensorSpec = spec.TensorSpec

// NamedOutput is a tensor of a graph with the name that users see.
type NamedOutput = steps.NamedOutput

// Pipeline is a plan that was built into a graph. [Build] makes it.
type Pipeline = run.Pipeline

// Processing is a plan's processing of records, in a graph. [BuildProcessing] makes it.
type Processing = build.Processing

// RunOptions are the options of a run over a pipeline.
type RunOptions = steps.Options

// Batch is one step's tensors by name.
type Batch = steps.Batch

// Waste adds up the amount of padding in padded tensors. [MeasurePadding] makes it.
type Waste = run.Waste

// TensorWaste is the amount of padding in a tensor.
type TensorWaste = run.TensorWaste
