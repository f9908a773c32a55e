package stage

import (
	"millrace/loaders/spec"
)

// Stage is a step on the way from the files to a batch.
type Stage interface {
	Explain() Explained
}

// Explained is what `millrace plan` prints of a stage. Its JSON keys stay as they are.
type Explained struct {
	Name    string       `json:"name"`
	What    string       `json:"what"`
	Tensors []Tensor     `json:"tensors,omitempty"` // the tensors after the stage, if it changes them
	Bucket  *spec.Bucket `json:"bucket,omitempty"`  // only for the stage that puts examples into buckets
}

// Tensor is a tensor that comes out of a stage.
type Tensor struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"` // -1 = not known before the data is read

	// Padding is the share of padding in a padded batch, from 0 to 1; nil where
	// nothing is padded or that is not known before the data is read.
	Padding *float64 `json:"padding,omitempty"`
}

// The names of stages that others ask for.
const (
	FilesName       = "files"
	PaddedBatchName = "padded batch"
)

// Explain describes a list of stages.
func Explain(list []Stage) []Explained {
	out := make([]Explained, len(list))
	for i, s := range list {
		out[i] = s.Explain()
	}
	return out
}

// Find returns the first stage of a type in a list, and whether there is one.
func Find[S Stage](list []Stage) (s S, found bool) {
	for _, x := range list {
		if s, found = x.(S); found {
			return s, true
		}
	}
	return s, false
}

// All returns the stages of a type in a list.
func All[S Stage](list []Stage) (all []S) {
	for _, x := range list {
		if s, ok := x.(S); ok {
			all = append(all, s)
		}
	}
	return all
}

// tensorsOf describes the tensors that come out of a stage.
func tensorsOf(specs ...spec.TensorSpec) []Tensor {
	tensors := make([]Tensor, len(specs))
	for i, t := range specs {
		tensors[i] = Tensor{Name: t.Name, DType: t.DType.String(), Shape: t.Shape}
	}
	return tensors
}
