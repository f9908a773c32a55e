// Package modelfile opens the files of a model inside the model's folder, and makes the
// errors that name them.
package modelfile
