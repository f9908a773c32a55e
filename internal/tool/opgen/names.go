package opgen

import (
	"fmt"
	"strings"
)

// Names are the Go names that differ from the names in the operations'
// definitions.
type Names struct {
	args  map[[2]string]string
	attrs map[[2]string]string
}

// ParseNames reads the table of exceptions. A line is one of
//
//	arg OP NAME NEW    what an input or output is called in Go
//	attr OP NAME NEW   what an attribute is called in Go
//
// Empty lines and lines that begin with # are ignored.
func ParseNames(text string) (*Names, error) {
	n := &Names{map[[2]string]string{}, map[[2]string]string{}}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 4 && f[0] == "arg":
			n.args[[2]string{f[1], f[2]}] = f[3]
		case len(f) == 4 && f[0] == "attr":
			n.attrs[[2]string{f[1], f[2]}] = f[3]
		default:
			return nil, fmt.Errorf("names.txt:%d: %q is not an entry", i+1, line)
		}
	}
	return n, nil
}

// arg returns the name of an input or output. A nil table has no exceptions.
func (n *Names) arg(op, name string) string {
	if n == nil {
		return name
	}
	if to, ok := n.args[[2]string{op, name}]; ok {
		return to
	}
	return name
}

// attr returns the name of an attribute.
func (n *Names) attr(op, name string) string {
	if n == nil {
		return name
	}
	if to, ok := n.attrs[[2]string{op, name}]; ok {
		return to
	}
	return name
}

// ParseSummaries reads the table of summaries: a line for each operation, its
// name, a tab, and the sentence that follows the name in the comment, as in
// "computes the absolute value of every element."
func ParseSummaries(text string) (map[string]string, error) {
	summaries := map[string]string{}
	last := ""
	i := 0
	for line := range strings.Lines(text) {
		i++
		line = strings.TrimSuffix(line, "\n")
		op, sentence, ok := strings.Cut(line, "\t")
		switch {
		case !ok || sentence == "" || !strings.HasSuffix(sentence, "."):
			return nil, fmt.Errorf("summaries.txt:%d: %q is not an operation, a tab and a sentence", i, line)
		case op <= last:
			return nil, fmt.Errorf("summaries.txt:%d: %s is out of order", i, op)
		}
		summaries[op], last = sentence, op
	}
	return summaries, nil
}
