package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"millrace/internal/base/figures"
)

// Text returns the description as a table for a terminal: the stages in the order in
// which data passes through them. Below "as TensorFlow runs it" are the figures of the
// pass, if there was one, and the stage that limits the pipeline.
func (d *Dataset) Text() string {
	var b strings.Builder
	for i, side := range d.sides() {
		if i > 0 {
			b.WriteString("\n")
		}
		writeStages(&b, side, d)
	}
	if d.Elements == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "\n%s in %s\n", figures.Of(d.Elements, "element"), figures.Milliseconds(d.Time))
	if verdict := d.verdict(); verdict != "" {
		fmt.Fprintln(&b, verdict)
	}
	return b.String()
}

// verdict names the stage that limits the pipeline, "" if nothing was measured.
func (d *Dataset) verdict() string {
	s, help := d.Bottleneck()
	switch {
	case s == nil:
		return ""
	case s.Measured.busy() < d.Time/2:
		return fmt.Sprintf("No stage holds the pipeline up: the slowest, %s, was busy for %s. Who takes the elements is slower.",
			s.Name(), figures.Milliseconds(s.Measured.busy()))
	}
	return fmt.Sprintf("%s holds the pipeline up: it was busy for %s. What would help: %s.", s.Name(), figures.Milliseconds(s.Measured.busy()), help)
}

// writeStages writes the rows of a tree of stages. The tree that ran has the figures of
// the pass.
func writeStages(b *strings.Builder, side side, of *Dataset) {
	if of.Elements == 0 || side.root != of.Run {
		of = nil
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\telements\t", side.title)
	if of != nil {
		fmt.Fprint(w, "time\tshare\tproduced\tbytes\tbuffered\t")
	}
	fmt.Fprintln(w, "arguments")
	writeStage(w, side.root, "  ", of)
	w.Flush() // a strings.Builder never fails
}

// writeStage writes a stage below the stages that it reads. If there are several of
// them, or functions that return datasets, they are indented.
func writeStage(w *tabwriter.Writer, s *Stage, indent string, of *Dataset) {
	inner := indent
	if len(s.Inputs) > 1 {
		inner += "  "
	}
	for _, in := range s.Inputs {
		writeStage(w, in, inner, of)
	}
	for _, f := range s.Functions {
		writeStage(w, f, indent+"  | ", of)
	}
	fmt.Fprintf(w, "%s%s\t%s\t", indent, s.Name(), s.cardinality())
	if of != nil {
		fmt.Fprint(w, s.Measured.columns(of))
	}
	fmt.Fprintln(w, s.arguments())
}

// cardinality returns the number of elements as text.
func (s *Stage) cardinality() string {
	switch {
	case s.Cardinality >= 0:
		return figures.Count(s.Cardinality)
	case s.Cardinality == endless:
		return "endless"
	}
	return "?"
}

// endless is the cardinality of a dataset without end.
const endless = -1

// columns returns the figures of a stage, each followed by a tab.
func (m *Measured) columns(of *Dataset) string {
	if m == nil {
		return "\t\t\t\t\t"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t", figures.Milliseconds(m.Time), of.share(m), figures.Count(m.Elements), figures.Size(m.Bytes), figures.Count(m.Buffered))
}

// share returns a stage's part of the total work.
func (d *Dataset) share(m *Measured) string {
	all := d.worked()
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*float64(m.Time)/float64(all))
}

// worked returns the sum of the times of all threads of all stages.
func (d *Dataset) worked() time.Duration {
	var all time.Duration
	for _, s := range d.Run.All() {
		if s.Measured != nil {
			all += s.Measured.Time
		}
	}
	return all
}

// parameters are the names that tf.data's model has for arguments.
var parameters = map[string]string{"num_parallel_calls": "parallelism", "buffer_size": "buffer_size"}

// arguments returns the stage's constants. For a value that TensorFlow chooses, it
// returns the value that the pass ran with.
func (s *Stage) arguments() string {
	parts := make([]string, len(s.Arguments))
	for i, a := range s.Arguments {
		parts[i] = a.Name + "=" + s.value(a)
	}
	return strings.Join(parts, " ")
}

// value returns the value of an argument.
func (s *Stage) value(a Argument) string {
	name, tunable := parameters[a.Name]
	if !tunable || a.Value != "-1" {
		return a.Value
	}
	if s.Measured != nil {
		for _, p := range s.Measured.Parameters {
			if p.Name == name {
				return fmt.Sprintf("%g (autotuned)", p.Value)
			}
		}
	}
	return "autotuned"
}
