package training

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace/estimator/internal/varname"
	"millrace/graph/gradients"
	"millrace/internal/base/figures"
	"millrace/savedmodel"
)

// Trained lists the variables that a training with an [Objective] changes, and those
// that it does not change.
type Trained struct {
	Variables []TrainedVariable
	Others    []UntrainedVariable
	// Notes are remarks about the model for the user: layers that the signature runs in
	// inference mode, and random operations that a resumed training cannot repeat.
	Notes []string
}

// TrainedVariable is a variable that the optimizer changes.
type TrainedVariable struct {
	Name  string // Python's, or the path in checkpoints
	Shape []int64
}

// UntrainedVariable is a variable that the signature reads and the optimizer does not
// change.
type UntrainedVariable struct {
	Name, Reason string
}

// NumWeights returns the number of elements of the trained variables.
func (t *Trained) NumWeights() int64 {
	total := int64(0)
	for _, v := range t.Variables {
		n := int64(1)
		for _, size := range v.Shape {
			n *= size
		}
		total += n
	}
	return total
}

// shownNames is how many names a line of text lists at most.
const shownNames = 6

// Text describes the variables in a line for each group.
func (t *Trained) Text() []string {
	var names []string
	for _, v := range t.Variables {
		names = append(names, v.Name)
	}
	lines := []string{fmt.Sprintf("trains %s with %s: %s", figures.Of(int64(len(names)), "variable"), figures.Of(t.NumWeights(), "weight"), listed(names))}
	var reasons []string
	groups := map[string][]string{}
	for _, v := range t.Others {
		if groups[v.Reason] == nil {
			reasons = append(reasons, v.Reason)
		}
		groups[v.Reason] = append(groups[v.Reason], v.Name)
	}
	for _, reason := range reasons {
		lines = append(lines, fmt.Sprintf("does not train %s (%s): %s", figures.Of(int64(len(groups[reason])), "variable"), reason, listed(groups[reason])))
	}
	return lines
}

// listed joins names, the first of many.
func listed(names []string) string {
	if len(names) > shownNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shownNames], ", "), len(names)-shownNames)
	}
	return strings.Join(names, ", ")
}

// newTrained returns the variables that a training of a subject changes, nil without an
// [Objective]. Patterns are Objective.Variables.
func newTrained(u *Subject, patterns []string) (*Trained, error) {
	if u.Step == nil {
		return nil, nil
	}
	names, err := varname.Of(u.Graph, u.Saved)
	if err != nil {
		return nil, err
	}
	t := &Trained{}
	same := func(v gradients.Variable) func(gradients.Variable) bool {
		return func(w gradients.Variable) bool { return v.Node == w.Node }
	}
	changed := map[string]bool{}
	for _, c := range u.Step.Changes {
		changed[names[c.Variable.Node].Shown(c.Variable)] = true
	}
	opened := slices.Clone(u.Step.Opened)
	slices.SortStableFunc(opened, func(a, b gradients.Variable) int { return cmp.Compare(names[a.Node].Number(), names[b.Node].Number()) })
	for _, v := range opened {
		name := names[v.Node]
		switch {
		case slices.ContainsFunc(u.Step.Variables, same(v)):
			t.Variables = append(t.Variables, TrainedVariable{name.Shown(v), v.Shape.Dims()})
		default:
			t.Others = append(t.Others, UntrainedVariable{name.Shown(v), reason(v, name, patterns, changed[name.Shown(v)])})
		}
	}
	t.noteInference(u, changed)
	if left := u.Step.Unrepeatable; len(left) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf(
			"the numbers of the random operations %s are not part of a checkpoint: a run that is resumed draws others than one that was not stopped", listed(left)))
	}
	return t, nil
}

// reason returns why a variable is not trained.
func reason(v gradients.Variable, name varname.Name, patterns []string, changed bool) string {
	switch {
	case changed:
		return "the signature itself changes it"
	case !v.Trainable():
		return "it holds " + v.DType.String()
	case patterns == nil && !name.Selected(v, nil):
		return "not trainable in the model"
	case !name.Selected(v, patterns):
		return "no pattern of variables matches"
	}
	return "the loss does not depend on it"
}

// Names that Keras gives to the state of layers that behave in another way in training.
const (
	movingMean = "/moving_mean"
	seedState  = "seed_generator_state"
)

// noteInference notes layers that the signature runs in inference mode.
func (t *Trained) noteInference(u *Subject, changed map[string]bool) {
	var still []string
	for _, v := range t.Others {
		layer, ok := strings.CutSuffix(v.Name, movingMean)
		trained := slices.ContainsFunc(t.Variables, func(w TrainedVariable) bool { return strings.HasPrefix(w.Name, layer+"/") })
		if ok && !changed[v.Name] && trained {
			still = append(still, layer)
		}
	}
	seeds, recurrent := idleSeeds(u)
	if len(still) == 0 && seeds == 0 {
		if recurrent > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("signature %q draws no dropout; if %s of the model should have any in training, export a signature that calls the model with training=True (docs/keras.md)",
				u.Signature.Name, figures.Of(int64(recurrent), "recurrent layer")))
		}
		return
	}
	var parts []string
	if len(still) > 0 {
		parts = append(parts, fmt.Sprintf("the statistics of %s stay as they are (%s)", figures.Of(int64(len(still)), "batch normalization"), listed(still)))
	}
	if seeds > 0 {
		parts = append(parts, figures.Of(int64(seeds), "random layer")+", such as dropout, have no effect")
	}
	t.Notes = append(t.Notes, fmt.Sprintf("signature %q runs the model as for predictions: %s; to train as Keras does, export a signature that calls the model with training=True (docs/keras.md)",
		u.Signature.Name, strings.Join(parts, ", and ")))
}

// idleSeeds counts the seeds of random layers if the signature changes none of them and no
// moving statistics: one that does calls the model in training mode, and whatever seed it
// does not change belongs to a layer without dropout. Each recurrent layer of Keras has a
// seed, with dropout or without.
func idleSeeds(u *Subject) (seeds, recurrent int) {
	for _, c := range u.Step.Changes {
		if name := c.Variable.Name; strings.HasSuffix(name, seedState) || strings.Contains(name, seedState+"_") || strings.Contains(name, movingMean) {
			return 0, 0
		}
	}
	objects := u.Saved.VariableObjects()
	for path, object := range objects {
		if !isSeed(path, object) {
			continue
		}
		if inRecurrentCell(path, objects) {
			recurrent++
		} else {
			seeds++
		}
	}
	return seeds, recurrent
}

// inRecurrentCell reports whether the seed at a path belongs to the cell of a recurrent
// layer: Keras lists it after the cell's recurrent kernel and its bias, if there is one.
func inRecurrentCell(path string, objects map[string]savedmodel.VariableObject) bool {
	list, rest, _ := strings.Cut(path, "/")
	number, rest, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	for _, k := range []int{i - 1, i - 2} {
		if strings.HasSuffix(objects[fmt.Sprintf("%s/%d/%s", list, k, rest)].Name, "/recurrent_kernel") {
			return true
		}
	}
	return false
}

// isSeed reports whether an object is the seed of a random layer, under one of its names.
func isSeed(path string, v savedmodel.VariableObject) bool {
	return strings.HasSuffix(v.Name, seedState) && !strings.HasPrefix(path, "_all_variables/")
}
