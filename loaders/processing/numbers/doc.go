// Package numbers has the processing steps that compute with numbers. Each type of step is
// a file; package catalog lists them.
package numbers
