// Package tensors has the processing steps that work on tensors of any data type: they
// change the shape, take parts, join, convert, name and remove tensors. Each type of step
// is a file; package catalog lists them.
package tensors
