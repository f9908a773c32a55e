package engine

import (
	"millrace/loaders/scan"
	"millrace/loaders/size"
	"millrace/loaders/spec"
)

// ServiceOf returns the data service whose workers make the examples of a plan, nil if this
// process makes them.
func ServiceOf(c Choice) *spec.Service { return c.Service }

// mostBlockRows bounds the rows of a block where an example takes a few bytes.
const mostBlockRows = 1 << 16

// BlockRows returns how many examples the workers of a service make at a time: whole batches,
// unless one is larger than a block.
func BlockRows(c Choice, found *scan.Scan) int64 {
	example := size.Example(c.Spec)
	if c.Window == nil {
		records, _ := found.Records()
		example = max(example, found.Bytes()/max(records, 1))
	}
	rows := max(c.Service.BlockBytes/max(example, 1), 1)
	if rows > c.BatchSize {
		rows -= rows % c.BatchSize
	}
	return min(rows, mostBlockRows)
}

// OfBlock returns the choice for the examples of a block: one batch of its rows, made in one
// process.
func OfBlock(c Choice, rows int64) Choice {
	config := *c.Spec
	config.BatchSize, config.DropRemainder, config.Prefetch, config.Service = rows, false, 0, nil
	c.Spec = &config
	return c
}
