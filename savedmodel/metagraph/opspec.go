package metagraph

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"millrace/savedmodel/message"
)

// RuntimeVersion is the TensorFlow whose operations the tables list.
const RuntimeVersion = "2.21.0"

//go:embed opspec_gen.txt
var opspecText string

// OpOutputs returns the outputs of every operation, by name, in the form that
// gen/opspec writes.
var OpOutputs = sync.OnceValue(func() map[string]string {
	outputs := map[string]string{}
	for line := range strings.Lines(opspecText) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, spec, _ := strings.Cut(line, " ")
			outputs[name] = spec
		}
	}
	return outputs
})

// MaxOutputs exceeds the number of inputs or outputs of any node.
const MaxOutputs = 1 << 16

// OutputTypes returns the type of each output of a node that runs an operation of
// TensorFlow, 0 if an attribute leaves it open; ok is false if their number is unknown.
func OutputTypes(n Node) (types []int32, ok bool) { return outputTypes(n) }

// outputTypes returns the type of each output of a node that runs an operation of
// TensorFlow, 0 if an attribute leaves it open; ok is false if their number is unknown.
func outputTypes(n Node) (types []int32, ok bool) {
	spec, ok := OpOutputs()[n.Op]
	if !ok {
		return nil, false
	}
	for _, token := range strings.Fields(spec) {
		if token[0] == '#' {
			continue
		}
		if list, found := strings.CutPrefix(token, "@"); found {
			these, ok := message.AttrTypes(n.Attr(list))
			if !ok {
				return nil, false
			}
			types = append(types, these...)
			continue
		}
		count, typ, found := strings.Cut(token, "*")
		if !found {
			count, typ = "", token
		}
		times, ok := outputCount(n, count)
		if !ok {
			return nil, false
		}
		for range times {
			types = append(types, outputType(n, typ))
		}
	}
	return types, true
}

// CountAttrs returns the attributes with the repeat counts of an operation's inputs and
// outputs.
func CountAttrs(op string) []string {
	var names []string
	for _, token := range strings.Fields(OpOutputs()[op]) {
		if name, found := strings.CutPrefix(token, "#"); found {
			names = append(names, name)
		}
	}
	return names
}

// outputCount returns how often an output repeats; attr names the attribute with the
// count, and its default, or is empty.
func outputCount(n Node, attr string) (int64, bool) {
	if attr == "" {
		return 1, true
	}
	name, fallback, hasDefault := strings.Cut(attr, "?")
	v, ok := message.AttrInt(n.Attr(name))
	if !ok && hasDefault {
		v, _ = strconv.ParseInt(fallback, 10, 64)
		ok = true
	}
	return v, ok && v >= 0 && v <= MaxOutputs
}

// outputType returns the type that a token of the table names, 0 if the node leaves it
// open.
func outputType(n Node, token string) int32 {
	if fixed, found := strings.CutPrefix(token, "="); found {
		v, _ := strconv.ParseInt(fixed, 10, 32)
		return int32(v)
	}
	name, fallback, hasDefault := strings.Cut(token, "?")
	v, ok := message.AttrType(n.Attr(name))
	if !ok && hasDefault {
		d, _ := strconv.ParseInt(fallback, 10, 32)
		return int32(d)
	}
	return v
}
