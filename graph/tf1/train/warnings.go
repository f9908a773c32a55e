package train

import (
	"fmt"

	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/graph/tf1/reader"
)

// producers is the key of the graph's collection of producers of a known number of rows.
const producers = "input_producers"

// producer is a queue that an input producer fills, and the rows of an epoch.
type producer struct {
	queue *queue.Queue
	rows  int64
}

// Warnings returns probable mistakes in a graph's pipeline that do not keep it from
// running: a sentence for each, in the order in which the producers were added. There
// is one kind today: more readers than files. A reader takes whole files, so that some
// readers get no file of an epoch and wait, and examples of two epochs mix where one
// ends and the next begins.
//
// It knows the number of files of a [StringInputProducer] if it is part of the graph,
// for example a constant. [NewMonitoredSession] logs the warnings.
func Warnings(s *graph.Scope) []string {
	readers := map[*queue.Queue]map[*reader.Reader]bool{}
	for _, source := range reader.Sources(s) {
		if readers[source.Files] == nil {
			readers[source.Files] = map[*reader.Reader]bool{}
		}
		readers[source.Files][source.Reader] = true
	}
	var warnings []string
	for _, p := range s.Collection(producers) {
		p := p.(producer)
		if n := int64(len(readers[p.queue])); n > p.rows {
			warnings = append(warnings, fmt.Sprintf(
				"%v: %d readers share %d files, and a reader takes whole files; use at most as many readers as files, or Batch with NumThreads",
				p.queue, n, p.rows))
		}
	}
	return warnings
}
