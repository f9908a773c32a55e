package configfile

import (
	"errors"
	"fmt"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/internal/base/regularfile"
	"millrace/loaders/decl"
	"millrace/serving"
	"millrace/serving/batching"
)

// settings are the settings for which TensorFlow Serving's config files have no fields.
type settings struct {
	decl.Object
	Models []modelSettings `json:"models" decl:"required" doc:"Settings by model."`
}

// modelSettings are the settings of one model.
type modelSettings struct {
	decl.Object
	Name         string          `json:"name" decl:"required,nonempty,label=model" doc:"Name of the model."`
	Batching     bool            `json:"batching" decl:"default=true" doc:"Whether its requests share batches, if the server has batching."`
	SharedInputs []string        `json:"shared_inputs" decl:"items.nonempty" doc:"Inputs that a batch has once: requests with equal values of them share batches."`
	Ragged       []ragged        `json:"ragged_inputs" decl:"" doc:"Inputs that are ragged tensors: their requests share batches."`
	Sparse       []sparse        `json:"sparse_inputs" decl:"" doc:"Inputs that are sparse tensors: their requests share batches."`
	Canary       []weight        `json:"canary" decl:"" doc:"Shares of the requests that name neither version nor label."`
	Shadow       *shadowSettings `json:"shadow" decl:"null" doc:"A version that runs copies of requests, whose answers are dropped."`
	CacheBytes   int64           `json:"cache_bytes" decl:"min=0" doc:"Memory for answers that are given again to equal requests."`
	Sequences    []sequence      `json:"sequences" decl:"" doc:"Signatures that compute one step of a sequence: streaming requests get each step."`
}

// sequence makes a signature the step of a sequence.
type sequence struct {
	decl.Object
	Signature string     `json:"signature" decl:"default=serving_default" doc:"The signature of one step."`
	Feedback  []feedback `json:"feedback" decl:"" doc:"Outputs that become inputs of the next step."`
	End       *end       `json:"end" decl:"null" doc:"The output that ends a sequence."`
	MaxSteps  int64      `json:"max_steps" decl:"default=1024,min=1,max=1000000" doc:"Most steps of a sequence."`
}

// feedback is an output that becomes an input of the next step.
type feedback struct {
	decl.Object
	Output string `json:"output" decl:"required,nonempty" doc:"An output of the step."`
	Input  string `json:"input" decl:"required,nonempty" doc:"The input of the next step."`
}

// end is the output that ends a sequence.
type end struct {
	decl.Object
	Output string `json:"output" decl:"required,nonempty" doc:"An output of bools, int32 or int64."`
	Value  int64  `json:"value" decl:"default=1" doc:"The value that all its elements must have; 1 stands for true."`
}

// ragged names the inputs of a ragged tensor.
type ragged struct {
	decl.Object
	Values    string   `json:"values" decl:"required,nonempty" doc:"The input with the values."`
	RowSplits []string `json:"row_splits" decl:"required,nonempty,items.nonempty" doc:"The inputs with the row splits, the outermost first."`
}

// sparse names the inputs of a sparse tensor.
type sparse struct {
	decl.Object
	Indices    string `json:"indices" decl:"required,nonempty" doc:"The input with the indices."`
	Values     string `json:"values" decl:"required,nonempty" doc:"The input with the values."`
	DenseShape string `json:"dense_shape" decl:"required,nonempty" doc:"The input with the dense shape."`
}

// weight is the share of a label.
type weight struct {
	decl.Object
	Label  string `json:"label" decl:"required,nonempty" doc:"A label of the model's versions."`
	Weight int64  `json:"weight" decl:"required,min=0,max=1000000" doc:"Its share, compared with the other weights."`
}

// shadowSettings are the settings of shadow copies.
type shadowSettings struct {
	decl.Object
	Label string  `json:"label" decl:"required,nonempty" doc:"A label of the model's versions."`
	Share float64 `json:"share" decl:"default=1" doc:"Share of the requests, from 0 to 1."`
}

// ReadSettings reads a file of settings of models into their configurations. It reports
// all mistakes at once, with line and column.
func ReadSettings(path string, configs []serving.ModelConfig) error {
	text, err := regularfile.ReadFile(path, jsonpos.MaxBytes)
	if err != nil {
		return withFile(path, millrace.Errorf(millrace.ErrIO, "read settings: %w", err))
	}
	node, err := jsonpos.Parse(text)
	var e *jsonpos.Error
	if errors.As(err, &e) {
		return diag.List{{File: path, Line: e.Line, Column: e.Column, Msg: e.Msg, Class: millrace.ErrConfig}}.Err()
	}
	r := &decl.Reporter{File: path, Class: millrace.ErrConfig, Limit: millrace.ErrLimit}
	var s settings
	r.Decode(node, &s)
	byName := map[string]*serving.ModelConfig{}
	var names []string
	for i := range configs {
		byName[configs[i].Name] = &configs[i]
		names = append(names, configs[i].Name)
	}
	seen := map[string]bool{}
	for i := range s.Models {
		m := &s.Models[i]
		if m.At == nil || m.Bad("name") {
			continue
		}
		c := byName[m.Name]
		switch {
		case c == nil:
			r.Report(m.Key("name"), "there is no model %q", m.Name).Hint = nearest(m.Name, names)
		case seen[m.Name]:
			r.Report(m.Key("name"), "model %q has settings twice", m.Name)
		default:
			m.apply(r, c)
		}
		seen[m.Name] = true
	}
	problems := r.Finish()
	problems.Sort(path)
	return problems.Err()
}

// nearest returns a hint that names the nearest name, or all of them.
func nearest(name string, names []string) string {
	if hint := diag.DidYouMean(name, names); hint != "" {
		return hint
	}
	return fmt.Sprintf("the server has %q", names)
}

// apply adds the settings to the configuration of their model.
func (m *modelSettings) apply(r *decl.Reporter, c *serving.ModelConfig) {
	c.Unbatched = !m.Batching
	c.SharedInputs = m.SharedInputs
	for _, in := range m.Ragged {
		c.Ragged = append(c.Ragged, batching.RaggedInput{Values: in.Values, RowSplits: in.RowSplits})
	}
	for _, in := range m.Sparse {
		c.Sparse = append(c.Sparse, batching.SparseInput{Indices: in.Indices, Values: in.Values, DenseShape: in.DenseShape})
	}
	c.CacheBytes = m.CacheBytes
	for i := range m.Sequences {
		m.Sequences[i].apply(r, c)
	}
	for i := range m.Canary {
		w := &m.Canary[i]
		if w.At == nil || w.Bad("label", "weight") {
			continue
		}
		if c.Canary == nil {
			c.Canary = map[string]int{}
		}
		if _, twice := c.Canary[w.Label]; twice {
			r.Report(w.Key("label"), "label %q has two weights", w.Label)
		}
		c.Canary[w.Label] = int(w.Weight)
		checkLabel(r, w.Key("label"), w.Label, c)
	}
	if s := m.Shadow; s != nil && s.At != nil && !s.Bad("label", "share") {
		c.Shadow = &serving.ShadowConfig{Label: s.Label, Share: s.Share}
		checkLabel(r, s.Key("label"), s.Label, c)
		if s.Share < 0 || s.Share > 1 {
			r.Report(s.Key("share"), "the share is %v, it must be from 0 to 1", s.Share)
		}
	}
}

// apply adds a sequence to the configuration of its model.
func (s *sequence) apply(r *decl.Reporter, c *serving.ModelConfig) {
	to := serving.SequenceConfig{Signature: s.Signature, Feedback: map[string]string{}, MaxSteps: int(s.MaxSteps)}
	for i := range s.Feedback {
		f := &s.Feedback[i]
		if f.At == nil || f.Bad("output", "input") {
			continue
		}
		if _, twice := to.Feedback[f.Output]; twice {
			r.Report(f.Key("output"), "output %q is named twice", f.Output)
		}
		to.Feedback[f.Output] = f.Input
	}
	if s.End != nil {
		to.EndOutput, to.EndValue = s.End.Output, s.End.Value
	}
	c.Sequences = append(c.Sequences, to)
}

// checkLabel reports a label that the model does not have.
func checkLabel(r *decl.Reporter, at *jsonpos.Node, label string, c *serving.ModelConfig) {
	if _, ok := c.VersionLabels[label]; ok {
		return
	}
	var labels []string
	for name := range c.VersionLabels {
		labels = append(labels, name)
	}
	r.Report(at, "model %q has no label %q", c.Name, label).Hint = nearest(label, labels)
}
