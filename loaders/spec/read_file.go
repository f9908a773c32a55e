package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/jsonpos"
)

// fail reports a file that cannot be read.
func (c *checker) fail(file, doing string, err error) {
	c.loose = append(c.loose, &diag.Diagnostic{
		File: file, Msg: fmt.Sprintf("%s: %v", doing, reason(err)), Class: classOf(err), Cause: err,
	})
}

// unreadable reports a file that the config names and that cannot be read. It
// returns the problem.
func (c *checker) unreadable(at *jsonpos.Node, what, path string, err error) *diag.Diagnostic {
	d := c.inConfig.Report(at, "%s %s: %v", what, millrace.Quote(path), reason(err))
	d.Class, d.Cause = classOf(err), err
	if errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(at.Text()) {
		d.Hint = "relative paths start at the config's folder"
	}
	return d
}

// parseGiven reads a JSON file that the caller named, not a config: the root
// does not matter. It returns nil after reporting what is wrong.
func (c *checker) parseGiven(path, doing string) *jsonpos.Node {
	data, err := (&disk{}).read(path, jsonpos.MaxBytes)
	if err != nil {
		c.fail(path, doing, err)
		return nil
	}
	return c.parse(path, data)
}

// parse parses a JSON file. It returns nil after reporting a syntax error.
func (c *checker) parse(path string, data []byte) *jsonpos.Node {
	node, err := jsonpos.Parse(data)
	var e *jsonpos.Error
	if !errors.As(err, &e) {
		return node
	}
	d := &diag.Diagnostic{File: path, Line: e.Line, Column: e.Column, Msg: e.Msg, Class: millrace.ErrConfig}
	if e.Limit {
		d.Class = millrace.ErrLimit
	}
	c.loose = append(c.loose, d)
	return nil
}
