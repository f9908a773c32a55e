package run

import (
	"strings"

	"millrace/estimator"
	"millrace/estimator/events"
	"millrace/tfbridge"
)

// histograms writes histograms of variables and gradients at an interval of steps.
func (w *watch) histograms(s *estimator.Step) error {
	if w.histogramsEvery == 0 || s.Step%w.histogramsEvery != 0 {
		return nil
	}
	variables, err := s.Variables()
	if err != nil {
		return err
	}
	defer func() {
		for _, v := range variables {
			v.Close()
		}
	}()
	if err := w.events.histograms(s.Step, "variables/", w.named(variables)); err != nil {
		return err
	}
	return w.events.histograms(s.Step, "gradients/", w.named(s.Gradients()))
}

// named gives tensors the familiar names of their variables, such as Keras's
// dense/kernel, instead of paths in checkpoints. A variable that Python's objects list
// twice is included once. If several variables have the same name, their paths are
// used.
func (w *watch) named(tensors []estimator.NamedTensor) []estimator.NamedTensor {
	objects := w.run.Model.Saved().VariableObjects()
	nameOf := func(path string) string { return objects[path+"/.ATTRIBUTES/VARIABLE_VALUE"].Name }
	count := map[string]int{}
	aside := func(path string) bool { return strings.HasPrefix(path, "_all_variables/") }
	for _, t := range tensors {
		if !aside(t.Name) {
			count[nameOf(t.Name)]++
		}
	}
	var list []estimator.NamedTensor
	for _, t := range tensors {
		name := nameOf(t.Name)
		if aside(t.Name) && count[name] > 0 {
			continue
		}
		if name != "" && count[name] <= 1 {
			t.Name = name
		}
		list = append(list, t)
	}
	return list
}

// histograms writes the tensors of floating point that have elements.
func (e *eventFiles) histograms(step int64, prefix string, tensors []estimator.NamedTensor) error {
	file, err := e.open(&e.train, trainEvents)
	if err != nil {
		return err
	}
	for _, t := range tensors {
		h, err := histogram(t.Tensor)
		if err != nil {
			return err
		}
		if h == nil {
			continue
		}
		if err := file.Histogram(step, prefix+t.Name, h); err != nil {
			return err
		}
	}
	return file.Flush()
}

// histogram returns nil for a tensor that is empty or not of floating point.
func histogram(t *tfbridge.Tensor) (*events.Histogram, error) {
	if t.NumElements() == 0 {
		return nil, nil
	}
	switch t.DataType() {
	case tfbridge.Float:
		return histogramOf(t, func(v float32) float64 { return float64(v) })
	case tfbridge.Double:
		return histogramOf(t, func(v float64) float64 { return v })
	case tfbridge.Half:
		return histogramOf(t, func(v tfbridge.Float16) float64 { return float64(v.Float32()) })
	case tfbridge.Bfloat16:
		return histogramOf(t, func(v tfbridge.BFloat16) float64 { return float64(v.Float32()) })
	}
	return nil, nil
}

func histogramOf[T any](t *tfbridge.Tensor, number func(T) float64) (*events.Histogram, error) {
	view, err := tfbridge.View[T](t)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(view))
	for i, v := range view {
		values[i] = number(v)
	}
	return events.NewHistogram(values), nil
}
