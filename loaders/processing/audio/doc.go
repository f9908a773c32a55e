// Package audio has the processing steps that work on sound: the bytes of WAV files, samples,
// and spectrograms. Each type of step is a file; package catalog lists them.
package audio
