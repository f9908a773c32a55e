package stage

import "millrace/loaders/engine"

// table makes the stages in the order of their meaning. A line returns the stages of its
// kind that a config has.
var table = []func(engine.Choice) []Stage{
	files,
	read,
	sequenceOrder,
	check,
	parse,
	window,
	constants,
	steps,
	rows,
	measures,
	shuffles,
	repeat,
	own,
	bucket,
	batch,
	batchSteps,
	prefetch,
}

// Of returns the stages of a config in the order of their meaning.
func Of(c engine.Choice) (list []Stage) {
	for _, line := range table {
		list = append(list, line(c)...)
	}
	return list
}
