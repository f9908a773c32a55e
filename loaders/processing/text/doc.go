// Package text has the processing steps that work on strings. Each type of step is a file;
// package catalog lists them.
package text
