package spec

import (
	"os"
	"path"
	"strings"

	"millrace/estimator/weights"
	"millrace/loaders/decl"
)

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
			c.report.Report(node, "there is no file or checkpoint %s", decl.QuotePath(where))
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
