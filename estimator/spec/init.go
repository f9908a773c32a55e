package spec

import (
	"os"
	"path"
	"strings"

	"millrace/estimator/weights"
	"millrace/loaders/decl"
)

// InitConfig selects the initial weights of a run.
type InitConfig struct {
	decl.Object
	Path         string         `json:"path" decl:"required,nonempty" doc:"A SavedModel, a checkpoint of TensorFlow, a .weights.h5 or .keras file of Keras, or a .safetensors file. A relative path starts at the run config's folder."`
	Variables    []string       `json:"variables" decl:"items.nonempty,nonempty" doc:"Patterns for the names of the variables to set, where * stands for any text. Without it: all."`
	Map          []RenameConfig `json:"map" decl:"most=10000" doc:"Other names for tensors of the file."`
	SkipMismatch bool           `json:"skip_mismatch" decl:"default=false" doc:"Variables for which the file has no value, or one of another shape, keep the model's; false: they are an error."`
}

// RenameConfig gives tensors other names.
type RenameConfig struct {
	decl.Object
	From string `json:"from" decl:"required,nonempty" doc:"A name in the file, with at most one * for any text."`
	To   string `json:"to" decl:"required,nonempty" doc:"The name in the model; a * stands for the same text."`
}

// checkInit checks the source of the initial weights.
func checkInit(c *checker) {
	config := c.run.Config
	at := config.At
	if at == nil || config.Init.A == nil && config.Init.B == nil {
		return
	}
	node := at.Key("init")
	if i := config.Init.B; i != nil {
		if i.At == nil || i.Bad("path") {
			return
		}
		node = i.Key("path")
		for k, r := range i.Map {
			if strings.Count(r.From, "*") > 1 || strings.Count(r.To, "*") > strings.Count(r.From, "*") {
				c.report.Report(i.Key("map").Elem(k), "from may have one *, and to no more than from")
			}
		}
		for k, pattern := range i.Variables {
			if _, err := path.Match(pattern, ""); err != nil {
				c.report.Report(i.Key("variables").Elem(k), "%s is not a pattern", decl.Quote(pattern))
			}
		}
	}
	where := c.relative(config.initPath())
	if _, err := os.Stat(where); err != nil {
		if _, index := os.Stat(where + ".index"); index != nil {
			c.report.Report(node, "there is no file or checkpoint %s", decl.Quote(where))
		}
	}
}

// initPath returns the path of the weights, "" if there is none.
func (c *Config) initPath() string {
	switch {
	case c.Init.A != nil:
		return *c.Init.A
	case c.Init.B != nil:
		return c.Init.B.Path
	}
	return ""
}

// initOptions returns the options for reading the weights.
func (c *Config) initOptions() *weights.Options {
	i := c.Init.B
	if i == nil {
		return nil
	}
	o := &weights.Options{Variables: i.Variables, SkipMismatch: i.SkipMismatch}
	for _, r := range i.Map {
		o.Map = append(o.Map, weights.Rename{From: r.From, To: r.To})
	}
	return o
}

// InitPath returns the path of the initial weights, "" if there are none.
func (r *Run) InitPath() string {
	where := r.Config.initPath()
	if where == "" {
		return ""
	}
	return (&checker{run: r}).relative(where)
}
