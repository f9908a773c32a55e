package parse

import (
	"millrace/graph"
	"millrace/loaders/build/column"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// Record parses and decodes one serialized record.
func (p *Parser) Record(s *graph.Scope, serialized tfbridge.Output) []tfbridge.Output {
	if p.Engine.Own || !p.Parse.SequenceExamples {
		return p.Decode(s, p.oneRow(s, serialized), nil)
	}
	parsed := graph.ParseSingleSequenceExample(s, serialized, p.sequenceFeatures())
	columns := p.inOrder(parsed.Context.Dense, func(_ *spec.Feature, i int) column.Column { return column.Column{Values: parsed.Lists[i]} })
	var stored []tfbridge.Output
	for _, c := range columns {
		stored = append(stored, c.Values)
	}
	return p.Decode(s, stored, nil)
}

// oneRow parses one serialized record as a batch of one.
func (p *Parser) oneRow(s *graph.Scope, serialized tfbridge.Output) []tfbridge.Output {
	var row []tfbridge.Output
	for _, c := range p.Stored(s, graph.ExpandDims(s, serialized, 0)) {
		if !c.Ragged() {
			c.Values = graph.Subscript(s, c.Values, graph.At(0))
		}
		row = append(row, c.Values)
	}
	return row
}
