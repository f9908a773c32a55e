package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/jsonpos"
)

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

// parseGiven reads a JSON file that the caller named, so Options.Root does not restrict
// it. It returns nil after reporting a problem.
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

// Replacement is an argument that replaces the config's, or is added to the config's.
type Replacement struct {
	Key   string // a key of "args"
	Value json.RawMessage
}

// ParseReplacement parses KEY=JSON. The error has class millrace.ErrConfig.
func ParseReplacement(text string) (r Replacement, err error) {
	key, value, ok := bytes.Cut([]byte(text), []byte("="))
	if !ok || len(key) == 0 {
		return r, millrace.Errorf(millrace.ErrConfig, "%s: must be KEY=JSON", millrace.Quote(text))
	}
	if _, err := jsonpos.Parse(value); err != nil {
		return r, millrace.Errorf(millrace.ErrConfig, "%s: the value of %s is not JSON: %w; a string is in double quotes", millrace.Quote(text), millrace.Quote(string(key)), err)
	}
	return Replacement{string(key), value}, nil
}

// readReplaced reads the config with the replacements of the options.
func (c *checker) readReplaced(doing string) *jsonpos.Node {
	node := c.parseGiven(c.spec.Path, doing)
	for _, r := range c.o.Replace {
		if node == nil || node.Key("args").Kind() != jsonpos.Object {
			return node // the check explains
		}
		node = c.parse(c.spec.Path, r.in(node))
	}
	return node
}

// in returns the text of a config with the argument. It moves no line, so that problems
// keep their line numbers.
func (r Replacement) in(config *jsonpos.Node) []byte {
	var line bytes.Buffer
	json.Compact(&line, r.Value) // it is JSON
	text, args := []byte(config.Raw()), config.Key("args")
	start := config.Offset()
	lead := slices.Repeat([]byte{' '}, start) // only white space precedes the object
	if old := args.Key(r.Key); old.Kind() != jsonpos.Missing {
		from := old.Offset() - start
		return slices.Concat(lead, text[:from], line.Bytes(), text[from+len(old.Raw()):])
	}
	name, _ := json.Marshal(r.Key)
	at := args.Offset() - start + 1
	comma := ", "
	if args.Len() == 0 {
		comma = ""
	}
	return slices.Concat(lead, text[:at], name, []byte(": "), line.Bytes(), []byte(comma), text[at:])
}
