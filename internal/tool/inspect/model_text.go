package inspect

import (
	"fmt"
	"io"
	"strings"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
)

// maxVariables and maxOperations limit the lists in the text unless all are requested.
const (
	maxVariables  = 20
	maxOperations = 12
)

// WriteText writes the report as tables. With all, it lists every variable and
// every operation.
func (r *ModelReport) WriteText(w io.Writer, all bool) error {
	b := &strings.Builder{}
	r.summary(b)
	for _, s := range r.Signatures {
		s.write(b)
	}
	r.variableTable(b, all)
	r.operationTable(b, all)
	for i, warning := range r.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "warning: %s\n", warning)
	}
	r.policy(b)
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

func (r *ModelReport) summary(b *strings.Builder) {
	version := "an unknown TensorFlow"
	if r.TensorFlow != "" {
		version = "TensorFlow " + shorten(r.TensorFlow, 24)
	}
	fmt.Fprintf(b, "%s: SavedModel of %s, tags %s\n", millrace.Quote(r.Path), version, tagText(r.Tags))
	if len(r.TagSets) > 1 {
		var sets []string
		for _, tags := range r.TagSets {
			sets = append(sets, tagText(tags))
		}
		fmt.Fprintf(b, "it holds %d meta graphs, with the tags %s; --tag-set chooses one\n", len(sets), strings.Join(sets, " "))
	}
	fmt.Fprintf(b, "graph %s", figures.Size(r.Bytes))
	if n := int64(len(r.Variables)); n > 0 {
		fmt.Fprintf(b, ", %s %s", figures.Of(n, "variable"), figures.Size(r.VariableBytes))
	}
	for _, a := range r.Assets {
		fmt.Fprintf(b, ", %s %s", shorten(a.File, 36), figures.Size(a.Bytes))
	}
	fmt.Fprintf(b, "\nSHA-256 %s", r.SHA256)
	if r.Fingerprinted {
		b.WriteString(", matches fingerprint.pb")
	}
	b.WriteByte('\n')
}

// tagText formats tags as in TensorFlow's messages.
func tagText(tags []string) string {
	var quoted []string
	for _, tag := range tags {
		quoted = append(quoted, millrace.Quote(tag))
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}

// write writes a signature as a table of its inputs and outputs.
func (s *ModelSignature) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nsignature %s", millrace.Quote(s.Key))
	if s.Method != "" {
		fmt.Fprintf(b, ", method %s", shorten(s.Method, 48))
	}
	b.WriteByte('\n')
	if s.Error != "" {
		fmt.Fprintf(b, "it cannot be called: %s\n", s.Error)
		return
	}
	t := newTable(b, "", "NAME", "TENSOR", "")
	for _, in := range s.Inputs {
		t.row("input", shorten(in.Name, 32), in.spec(), in.remark())
	}
	for _, out := range s.Outputs {
		t.row("output", shorten(out.Name, 32), out.spec(), out.remark())
	}
	t.flush()
}

// spec formats a tensor's type and shape: "float32[?, 3]".
func (t ModelTensor) spec() string { return specText(t.DType, t.Shape) }

func specText(d string, dims []int64) string {
	shape := dtype.Shape{}
	if dims != nil {
		shape = dtype.MakeShape(dims...)
	}
	return d + shape.String()
}

// remark describes the peculiarities of a tensor.
func (t ModelTensor) remark() string {
	switch {
	case t.Error != "":
		return "cannot be fetched: " + t.Error
	case t.Whole != "":
		return fmt.Sprintf("%s of the %s tensor %s", t.Part, t.Encoding, shorten(t.Whole, 32))
	}
	return ""
}

func (r *ModelReport) variableTable(b *strings.Builder, all bool) {
	if len(r.Variables) == 0 {
		b.WriteString("\nno variables\n")
		return
	}
	b.WriteByte('\n')
	variables := r.Variables
	if len(variables) > maxVariables && !all {
		variables = variables[:maxVariables]
	}
	t := newTable(b, "VARIABLE", "TENSOR", ">SIZE")
	for _, v := range variables {
		t.row(shorten(v.Name, 48), specText(v.DType, v.Shape), figures.Size(v.Bytes))
	}
	t.flush()
	andMore(b, len(r.Variables)-len(variables))
}

func (r *ModelReport) operationTable(b *strings.Builder, all bool) {
	operations, nodes := r.Operations, 0
	for _, o := range operations {
		nodes += o.Nodes
	}
	fmt.Fprintf(b, "\n%s in the graph and %s\n", figures.Of(int64(nodes), "node"), figures.Of(int64(r.Functions), "function"))
	if len(operations) > maxOperations && !all {
		operations = operations[:maxOperations]
	}
	t := newTable(b, "OPERATION", ">NODES")
	for _, o := range operations {
		t.row(shorten(o.Op, 48), figures.Count(int64(o.Nodes)))
	}
	t.flush()
	andMore(b, len(r.Operations)-len(operations))
}

// andMore formats the number of rows that a table omits.
func andMore(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "and %s more (--all shows them)\n", figures.Count(int64(n)))
	}
}

// policy describes whether the model may be loaded.
func (r *ModelReport) policy(b *strings.Builder) {
	if len(r.Refused) == 0 {
		b.WriteString("\nthe policy accepts the model\n")
		return
	}
	b.WriteString("\nTHE POLICY REFUSES THE MODEL:\n")
	for _, reason := range r.Refused {
		fmt.Fprintf(b, "%s\n", reason)
	}
}
