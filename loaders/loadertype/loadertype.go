// Package loadertype is where a new loader type is written. A type is one file: the keys
// that only it has, their checks, and a stage that changes the stream of examples. One line of
// the table in loaders/spec/loader_type.go lists it.
//
//	// EveryNthArgs are the arguments of a loader of type every_nth.
//	type EveryNthArgs struct {
//		N int64 `json:"n" decl:"required,min=1" doc:"One of n records is an example."`
//	}
//
//	func (a *EveryNthArgs) Check(c *Context) Stage {
//		if c.Bad("n") {
//			return nil
//		}
//		return everyNth{a.N}
//	}
//
// # One file for a loader type
//
// The question: a loader type is declared, checked, printed, counted and built. The packages
// that check and print a config must not build graphs, so these were files in spec, stage and
// build, with a line of a table in each.
//
// The answer is the one of package processing: Check returns a value, and Build is a method of
// this value. Package spec calls Check, package stage prints and counts the value, and package
// build calls Build with a dataset. A type also has all arguments that types of examples
// share: the dataset, features, steps, shuffling, order, padding and batches. Package spec adds
// these to its keys and checks them.
//
// Types with windows and chunks are older, and their stages are shared by several engines:
// their rooms are in spec, stage and build.
package loadertype

import (
	"millrace/graph/dataset"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// Args are the keys that only one loader type has: a pointer to a struct that declares them
// by tags, as package decl says. The struct does not embed decl.Object.
type Args interface {
	// Check reports mistakes in the keys. It returns the type's stage, or nil if the type has
	// none or a mistake was found.
	Check(c *Context) Stage
}

// Context is the input of a type's check.
type Context struct {
	*decl.Object // all arguments of the config: Key, Has, Bad
	*decl.Reporter

	// Tensors are the tensors that are read, before processing steps. The data type of an
	// unknown tensor is 0.
	Tensors []processing.Tensor
}

// Stage is the stage that only one loader type has. It comes after the epochs and before the
// batches, so that it sees examples in the order in which they are delivered. It is
// read-only, and safe for concurrent use.
type Stage interface {
	// Explain returns the name of the stage and what it does, for `millrace plan`.
	Explain() (name, what string)

	// Count returns how many examples the stage makes of a number of them, and whether that
	// is known before the data are read.
	Count(examples int64) (n int64, known bool)

	// Build adds the stage to a dataset of examples. Each has the same tensors before and
	// after.
	Build(d *dataset.Dataset) *dataset.Dataset
}
