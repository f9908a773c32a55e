package openinference

import (
	"strconv"

	"millrace/serving"
)

// Platform is the platform of all models.
const Platform = "tensorflow_savedmodel"

// Spec returns the model version that a request names: by a number, a label, or
// neither.
func Spec(model, version string) serving.ModelSpec {
	spec := serving.ModelSpec{Name: model}
	if n, err := strconv.ParseUint(version, 10, 63); err == nil {
		spec.Version, spec.HasVersion = int64(n), true
	} else {
		spec.Label = version
	}
	return spec
}

// Versions returns the available versions of a model.
func Versions(s *serving.Server, model string) []string {
	numbers := []string{}
	all, _ := s.Status(serving.ModelSpec{Name: model}) // an error: the model has just gone
	for _, v := range all {
		if v.State == serving.Available {
			numbers = append(numbers, strconv.FormatInt(v.Version, 10))
		}
	}
	return numbers
}
