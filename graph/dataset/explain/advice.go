package explain

import "time"

// Bottleneck returns the stage that limits the speed of the pipeline, and what would
// help: the stage with the longest time, divided by the number of threads that it may
// use. It returns nil if nothing was measured. A pipeline is as fast as this stage,
// unless the consumer is slower.
func (d *Dataset) Bottleneck() (stage *Stage, help string) {
	var longest time.Duration
	for _, s := range d.Run.All() {
		if s.Measured == nil {
			continue
		}
		if t := s.Measured.busy(); t > longest {
			longest, stage = t, s
		}
	}
	if stage == nil {
		return nil, ""
	}
	return stage, stage.help()
}

// busy returns how long a stage needs for its work with all its threads.
func (m *Measured) busy() time.Duration {
	for _, p := range m.Parameters {
		if p.Name == "parallelism" && p.Value > 1 {
			return m.Time / time.Duration(p.Value)
		}
	}
	return m.Time
}

// advice lists by stage name what makes the stage faster.
var advice = map[string]string{
	"Map":                "map several elements at a time (MapParallel), or whole batches: batch first",
	"ParallelMap":        "its function is the work: map whole batches (batch first), or give it more processors",
	"MapAndBatch":        "its function is the work: map whole batches (batch first), or give it more processors",
	"Filter":             "filter before anything expensive, or turn on Rewrites.FilterParallelization",
	"ParallelFilter":     "filter before anything expensive",
	"Batch":              "copy several batches at a time (BatchParallel)",
	"PaddedBatch":        "batch elements of similar length (BucketByLength), so that less is padding",
	"Unbatch":            "work on batches as long as possible, and unbatch last",
	"ParseExample":       "parse several batches at a time (ParseExampleOptions.Parallel), or read by native.Examples",
	"FlatMap":            "read several at a time: Interleave with Parallel",
	"Interleave":         "read several at a time: Interleave with Parallel",
	"ParallelInterleave": "what it reads is the work: more files at a time, or faster storage",
	"TFRecord":           "read several files at a time (Interleave with Parallel), or read by native.Examples",
	"TextLine":           "read several files at a time (Interleave with Parallel)",
	"FixedLengthRecord":  "read several files at a time (Interleave with Parallel)",
	"CSV":                "read several files at a time (Interleave with Parallel)",
	"Shuffle":            "shuffle smaller elements: before they are decoded",
	"ShuffleAndRepeat":   "shuffle smaller elements: before they are decoded",
	"Scan":               "a scan works on one element at a time: leave in it only what needs the state",

	"MillraceExampleBatch":       nativeReader,
	"MillraceSequenceBatch":      nativeReader,
	"MillraceRecords":            nativeReader,
	"MillraceChunkRecords":       nativeReader,
	"MillraceParseBatch":         "parse several batches at a time (num_parallel_parses of a loader)",
	"MillraceParseSequenceBatch": "parse several batches at a time (num_parallel_parses of a loader)",
}

const nativeReader = "it reads, checks and decodes records: give it more processors, or faster storage"

// help returns advice on what would make the stage faster.
func (s *Stage) help() string {
	if text := advice[s.Name()]; text != "" {
		return text
	}
	return "do less in it, or do it on batches"
}
