// Package process builds the stages that work on the tensors of examples: constants,
// processing steps, lengths and masks, padding. Each stage has a file, and a line of the
// table.
//
// A stage is built in two forms that give the same values. The dense form works on
// tensors of one example, or of a batch of examples with one more axis in front. The
// ragged form works on columns of rows that differ in length; see package column.
package process

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Processor builds the processing stages of a plan.
type Processor struct {
	*target.Target
}

// New returns a Processor of the stages of t.
func New(t *target.Target) *Processor { return &Processor{t} }

// room builds one stage. A room reads the tensors that the stage reads, and stores those
// that the stage makes.
type room interface {
	// dense builds the stage on tensors that have lead dimensions in front of the
	// example's own: 0 for one example, 1 for a batch.
	dense(s *graph.Scope, values map[string]tfbridge.Output, lead int)

	// ragged builds the stage on columns.
	ragged(s *graph.Scope, columns map[string]column.Column)
}

// line is a line of the table: it makes the room of a stage of one type.
type line struct {
	builds func(stage.Stage) bool
	room   func(*Processor, stage.Stage) room
}

// of returns the line for a type of stage.
func of[S stage.Stage](make func(*Processor, S) room) line {
	return line{
		func(s stage.Stage) bool { _, ok := s.(S); return ok },
		func(p *Processor, s stage.Stage) room { return make(p, s.(S)) },
	}
}
