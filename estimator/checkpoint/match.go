package checkpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"millrace/dtype"
	"millrace/internal/base/changes"
	"millrace/savedmodel"
)

// maxDifferences is how many differences a message lists.
const maxDifferences = 8

// Match returns an error that lists what differs if a checkpoint does not have
// the variables of a model with their types and shapes. What the checkpoint has
// besides does not matter.
func (c *Checkpoint) Match(variables []dtype.TensorSpec) error {
	var differences []string
	for _, v := range variables {
		have, ok := c.Tensor(v.Name)
		switch {
		case !ok:
			differences = append(differences, fmt.Sprintf("%s is missing", v.Name))
		case have.DType != v.DType || !have.Shape.IsCompatibleWith(v.Shape):
			differences = append(differences, fmt.Sprintf("%s is %v, the model has %v", v.Name, have, v))
		}
	}
	if len(differences) == 0 {
		return nil
	}
	return refusal(c.Source(), "the checkpoint is of another model: %s", list(differences))
}

// Tensor returns the spec of a tensor of the checkpoint.
func (c *Checkpoint) Tensor(name string) (dtype.TensorSpec, bool) {
	i, ok := slices.BinarySearchFunc(c.Variables, name, func(v savedmodel.Variable, n string) int { return cmp.Compare(v.Name, n) })
	if !ok {
		return dtype.TensorSpec{}, false
	}
	return c.Variables[i].TensorSpec, true
}

// Change is an entry of Info.Job or Info.Settings that has changed.
type Change = changes.Change

// ChangedJob returns how the job of a checkpoint differs from another, and in which of its
// parts.
func (c *Checkpoint) ChangedJob(job map[string]string, parts map[string]map[string]string) []Change {
	list := changes.Between(c.Info.Job, job)
	for i, change := range list {
		if was, is := c.Info.Parts[change.Key], parts[change.Key]; was != nil && is != nil {
			list[i].Parts = changes.Between(was, is)
		}
	}
	return list
}

// ChangedSettings returns how the settings of a checkpoint differ from others.
func (c *Checkpoint) ChangedSettings(settings map[string]string) []Change {
	return changes.Between(c.Info.Settings, settings)
}

// RefuseChanges returns an error that lists the changes of a job, unless allowed
// names all of them.
func (c *Checkpoint) RefuseChanges(changed []Change, allowed []string) error {
	var refused, keys []string
	for _, change := range changed {
		if !slices.Contains(allowed, change.Key) {
			refused, keys = append(refused, change.Text()), append(keys, change.Key)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return refusal(c.Source(), "the checkpoint is of another training: %s; name another folder, or allow it with --allow-changed %s",
		list(refused), strings.Join(keys, ","))
}

// list joins differences.
func list(differences []string) string {
	more := ""
	if n := len(differences); n > maxDifferences {
		more = fmt.Sprintf(", and %d more", n-maxDifferences)
		differences = differences[:maxDifferences]
	}
	return strings.Join(differences, ", ") + more
}

// Weights returns the specs under which a checkpoint holds the weights to evaluate, to
// export and to begin with: the moving averages of the variables that have one, and the
// variables themselves otherwise. They have the order of specs.
func (c *Checkpoint) Weights(specs []dtype.TensorSpec) []dtype.TensorSpec {
	list := make([]dtype.TensorSpec, len(specs))
	for i, v := range specs {
		list[i] = v
		if average, ok := c.Tensor(c.Info.Averages[v.Name]); ok && average.DType == v.DType && average.Shape.String() == v.Shape.String() {
			list[i].Name = average.Name
		}
	}
	return list
}
