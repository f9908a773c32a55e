package run

import (
	"path/filepath"
	"slices"

	"millrace/estimator"
	"millrace/estimator/events"
)

// eventFiles writes what TensorBoard shows of a run: events/train and
// events/evaluate, two runs whose values of one name it draws in one chart.
type eventFiles struct {
	folder   Folder
	step     int64          // the step that the run continues after
	most     int64          // bytes of a file, before another follows it; 0: any number
	train    *events.Writer // nil before the first value
	evaluate *events.Writer
	follows  []string // folders that have a file of this process already
}

// Names of the folders of event files, which TensorBoard shows as runs.
const (
	trainEvents    = "train"
	evaluateEvents = "evaluate"
)

// Events returns the folder of the event files.
func (f Folder) Events() string { return filepath.Join(string(f), eventsName) }

// progress writes the values of a logged step.
func (e *eventFiles) progress(p *estimator.Progress, loss string) error {
	values := logged(p, loss)
	values["throughput/steps_per_s"] = p.StepsPerSecond()
	values["throughput/examples_per_s"] = p.ExamplesPerSecond()
	values["throughput/input_wait"] = p.InputShare()
	return e.write(&e.train, trainEvents, p.Step, values)
}

// bestPrefix begins the names of the metrics of the best evaluation so far.
const bestPrefix = "best/"

// evaluated writes the metrics of an evaluation: numbers, and the figures of named classes.
// The best evaluation so far has its metrics under other names, too.
func (e *eventFiles) evaluated(v *estimator.Evaluated) error {
	values := map[string]float64{}
	for name, value := range v.Values {
		if value.Matrix == nil {
			values[name] = value.Number
			if v.Best {
				values[bestPrefix+name] = value.Number
			}
		}
		for _, c := range value.PerClass() {
			of := name + "/" + c.Name + "/"
			values[of+"precision"], values[of+"recall"], values[of+"f1_score"] = c.Precision, c.Recall, c.F1Score
		}
	}
	return e.write(&e.evaluate, evaluateEvents, v.Step, values)
}

// write writes values to a file. A run that is looked at while it trains shows them
// at once.
func (e *eventFiles) write(w **events.Writer, name string, step int64, values map[string]float64) error {
	file, err := e.open(w, name)
	if err != nil {
		return err
	}
	if err := file.Scalars(step, values); err != nil {
		return err
	}
	if err := file.Flush(); err != nil {
		return err
	}
	return e.follow(w, name)
}

// follow closes a file that has its size. The next event begins another one.
func (e *eventFiles) follow(w **events.Writer, name string) error {
	if e.most == 0 || (*w).Size() < e.most {
		return nil
	}
	file := *w
	*w = nil
	e.follows = append(e.follows, name)
	return file.Close()
}

// open returns a file, which it creates at the first call.
func (e *eventFiles) open(w **events.Writer, name string) (*events.Writer, error) {
	if *w == nil {
		o := events.Options{Step: e.step}
		if slices.Contains(e.follows, name) {
			o.Step = 0 // events of the files before stay
		}
		created, err := events.Create(filepath.Join(e.folder.Events(), name), &o)
		if err != nil {
			return nil, err
		}
		*w = created
	}
	return *w, nil
}

// hyperparameters writes what TensorBoard's page of hyperparameters compares runs by.
func (e *eventFiles) hyperparameters(values map[string]any) error {
	file, err := e.open(&e.train, trainEvents)
	if err != nil {
		return err
	}
	if err := file.Hyperparameters(values); err != nil {
		return err
	}
	return file.Flush()
}

// graph writes the graph of the training.
func (e *eventFiles) graph(def []byte) error {
	file, err := e.open(&e.train, trainEvents)
	if err != nil {
		return err
	}
	if err := file.Graph(def); err != nil {
		return err
	}
	return file.Flush()
}

// Close closes the files.
func (e *eventFiles) Close() error {
	var first error
	for _, w := range []*events.Writer{e.train, e.evaluate} {
		if w == nil {
			continue
		}
		if err := w.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
