package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// Mixed reads several files in turns, one element of each at a time. It shuffles the
// names of the files before, and the elements after that.
func (e *Epochs) Mixed(s *graph.Scope, epoch tfbridge.Output, name string, read ReadFunc) *dataset.Dataset {
	d := e.Shuffle(e.ListFiles(s), e.Files.Buffer, StreamNames, epoch)
	d = d.Interleave(name, read, e.interleaveOptions())
	return e.Shuffle(d, e.Shuffling.Buffer, StreamRecords, epoch)
}

// ReadFunc reads one of the files that [Epochs.ListFiles] lists.
type ReadFunc = func(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset

func (e *Epochs) interleaveOptions() *dataset.InterleaveOptions {
	files, buffered := e.Engine.ParallelFiles(e.Scan)
	return &dataset.InterleaveOptions{
		CycleLength: max(e.Read.MixFiles, 1),
		BlockLength: 1,
		Parallel:    files,
		Sloppy:      e.Read.Sloppy,
		InBuffer:    e.Read.OpenAhead,
		OutBuffer:   buffered,
	}
}

// ListFiles lists the files: name, number of records (-1 if not counted) and
// ordinal.
func (e *Epochs) ListFiles(s *graph.Scope) *dataset.Dataset {
	var names []string
	var counts, ordinals []int64
	for i, f := range e.Files.List {
		names = append(names, tfbridge.FileSystemPath(f.Path))
		counts = append(counts, e.Scan.Count(i))
		ordinals = append(ordinals, int64(i))
	}
	return dataset.FromSlices(s, s.Const(names), s.Const(counts), s.Const(ordinals))
}
