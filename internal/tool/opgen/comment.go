package opgen

import (
	"fmt"
	"strings"

	"millrace/internal/base/tfproto"
)

// width is the longest line of a comment, unless a word is longer.
const width = 100

// comment returns the comment of a function: what the operation does, its
// inputs and outputs, their types, and the options.
func (f *function) comment() string {
	c := &commentWriter{}
	c.wrap("", f.name+" "+f.summary)
	for text := range strings.SplitSeq(f.op.Description, "\n\n") {
		if f.style.words && strings.TrimSpace(text) != "" {
			c.paragraph(text)
		}
	}
	lines := f.describe(f.inputs)
	for _, a := range f.required {
		lines = append(lines, a.id+": "+attrKind(a.def)+f.described(a.def.Description))
	}
	c.items("Parameters", lines)
	c.items("Results", f.describe(f.outputs))
	for _, a := range f.op.Attr {
		if implied(f.op, a.Name) {
			if text := constraint(a); text != "" {
				c.paragraph(a.Name + " is " + text + ".")
			}
		}
	}
	if len(f.optional) > 0 {
		var options []string
		for _, a := range f.optional {
			options = append(options, "["+f.name+a.id+"]")
		}
		c.paragraph("Options: " + strings.Join(options, ", ") + ".")
	}
	if d := f.op.Deprecation; d != nil {
		c.paragraph(fmt.Sprintf("Deprecated: since version %d of graphs: %s", d.Version, strings.TrimSuffix(d.Explanation, ".")+"."))
	}
	return c.String()
}

// describe returns a line for each run of arguments of one kind.
func (f *function) describe(args []arg) []string {
	var lines []string
	last := ""
	for _, a := range args {
		kind := argKind(a) + f.described(a.def.Description)
		if kind == last {
			at := len(lines) - 1
			lines[at] = strings.TrimSuffix(lines[at], ": "+kind) + ", " + a.id + ": " + kind
			continue
		}
		lines, last = append(lines, a.id+": "+kind), kind
	}
	return lines
}

// described returns the text after a kind, which the operation's author wrote.
func (f *function) described(description string) string {
	if description = strings.TrimSuffix(strings.TrimSpace(description), "."); description == "" || !f.style.words {
		return ""
	}
	return "; " + description
}

// argKind describes the type of an argument.
func argKind(a arg) string {
	kind := a.def.TypeAttr
	if kind == "" {
		kind = dtype(a.def.Type)
	}
	if a.def.IsRef {
		kind = "reference to " + kind
	}
	switch {
	case a.def.TypeListAttr != "":
		return "list of the types " + a.def.TypeListAttr
	case a.def.NumberAttr != "":
		return "list of " + a.def.NumberAttr + " × " + kind
	}
	return kind
}

// attrKind describes the values of an attribute.
func attrKind(a *tfproto.OpDef_AttrDef) string {
	if text := constraint(a); text != "" {
		return text
	}
	return attrTypes[a.Type].says
}

// constraint describes the limits on the values of an attribute, "" if there
// are none.
func constraint(a *tfproto.OpDef_AttrDef) string {
	list := strings.HasPrefix(a.Type, "list(")
	var text string
	if allowed := a.AllowedValues.GetList(); allowed != nil {
		text = either(listValues(allowed))
		if list {
			text = "a list of " + text
		}
	}
	if a.HasMinimum {
		switch {
		case list && a.Minimum == 1 && text == "":
			text = attrTypes[a.Type].says + ", not empty"
		case list && text == "":
			text = fmt.Sprintf("%s, %d at least", attrTypes[a.Type].says, a.Minimum)
		case list:
			text += fmt.Sprintf(", %d at least", a.Minimum)
		default:
			text = fmt.Sprintf("at least %d", a.Minimum)
		}
	}
	return text
}

// attrComment returns the comment of an optional attribute's function.
func (f *function) attrComment(a attr) string {
	c := &commentWriter{}
	text := fmt.Sprintf("%s%s sets the attribute %s", f.name, a.id, a.def.Name)
	if limit := constraint(a.def); limit != "" {
		text += ", " + limit
	}
	c.wrap("", fmt.Sprintf("%s; the default is %s%s.", text, value(a.def.DefaultValue), f.described(a.def.Description)))
	return c.String()
}

// commentWriter makes lines of a comment.
type commentWriter struct{ strings.Builder }

// paragraph adds an empty line and a text.
func (c *commentWriter) paragraph(text string) {
	c.WriteString("//\n")
	c.wrap("", text)
}

// items adds a list with a title, unless it is empty.
func (c *commentWriter) items(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	c.paragraph(title + ":")
	for _, line := range lines {
		c.wrap("  - ", line)
	}
}

// wrap adds a text in lines of the width, the first of which begins with a
// bullet.
func (c *commentWriter) wrap(bullet, text string) {
	line := "// " + bullet
	rest := "// " + strings.Repeat(" ", len(bullet))
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > width {
			c.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	c.WriteString(line + "\n")
}

// ArgType returns the type of an input or output for comments: "float32", "list of N ×
// T".
func ArgType(def *tfproto.OpDef_ArgDef) string { return argKind(arg{def: def}) }

// AttrValues describes the values of an attribute for comments: "at least 1", "a list
// of data types".
func AttrValues(def *tfproto.OpDef_AttrDef) string { return attrKind(def) }

// Value formats an attribute's value for comments.
func Value(v *tfproto.AttrValue) string { return value(v) }
