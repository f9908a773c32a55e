package process

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/build/target"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// constant builds secondary features of type const. Shapes are copied from primaries as
// they are before any step.
type constant struct {
	stage.Constant
	first string // the first primary tensor, which has the number of rows
}

func newConstant(p *Processor, c stage.Constant) room {
	return constant{c, p.Parse.Primaries[0].To}
}

func (c constant) dense(s *graph.Scope, values map[string]tfbridge.Output, lead int) {
	shape := s.Const(target.Int64Vector(c.Shape))
	if c.ShapeFrom != "" {
		shape = graph.Shape(s, values[c.ShapeFrom])
	} else if lead > 0 {
		batch := graph.Subscript(s, graph.Shape(s, values[c.first]), graph.Until(int64(lead)))
		shape = graph.ConcatV2(s, []tfbridge.Output{batch, shape}, 0)
	}
	values[c.To] = graph.Fill(s, shape, target.Constant(s, c.Value, c.DType))
}

// ragged copies the lengths of rows along with a shape.
func (c constant) ragged(s *graph.Scope, columns map[string]column.Column) {
	value := target.Constant(s, c.Value, c.DType)
	if from, ok := columns[c.ShapeFrom]; ok && c.ShapeFrom != "" {
		columns[c.To] = column.Column{Values: graph.Fill(s, graph.Shape(s, from.Values), value), Splits: from.Splits}
		return
	}
	rows := columns[c.first].Rows(s)
	shape := graph.ConcatV2(s, []tfbridge.Output{graph.ExpandDims(s, rows, 0), s.Const(target.Int64Vector(c.Shape))}, 0)
	columns[c.To] = column.Column{Values: graph.Fill(s, shape, value)}
}
