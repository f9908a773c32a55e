package engine

import (
	"slices"

	"millrace/loaders/permutation"
	"millrace/loaders/spec"
)

// native: Millrace's own operations read and decode records. It is a function, because the order that
// a rule looks at depends on whether the operations read the files.
func native() rewrite {
	return rewrite{name: "native", rules: []rule{
		{when: func(c Choice) bool { return !c.Own }, why: "the library of dataset operations is not built for this runtime (millrace runtime native)"},
		{when: special, why: "the loader type has a stage that TensorFlow's operations carry out"},
		{when: makesImages, why: "records are batched for the operation that makes their images"},
		{when: singly, why: "the processing step SINGLE works on one example at a time"},
		{stage: buckets, when: with(windows), why: "windows are put into buckets one by one"},
		{stage: buckets, when: not(Choice.NativeTensors), why: "examples are put into buckets behind casts, slices, constants or measures that TensorFlow's operations make"},
		{stage: buckets, applied: true, why: "records are decoded, put into buckets and padded to batches by one operation"},

		{stage: chunked, when: Choice.CutsFiles, applied: true, why: "files are read, checked, decoded, cut, padded and batched by one operation"},
		{stage: chunked, applied: true, why: "sequences are cut, padded and batched by one operation"},

		{stage: windows, when: Choice.ChecksRecords, why: "every record is checked before windows are cut"},
		{stage: windows, when: func(c Choice) bool { return c.Skips }, why: "bad records are skipped before windows are cut"},
		{stage: windows, when: func(c Choice) bool { return c.Manifest.AllowVarLen }, why: "windows of SequenceExamples are cut by TensorFlow's operations"},
		{stage: windows, when: lists, why: "windows of records that differ in length are cut by TensorFlow's operations"},
		{stage: windows, when: remoteFiles, why: "windows are cut natively from files whose records are counted, so not from remote ones"},
		{stage: windows, when: hasStrings, why: "windows of strings are cut by TensorFlow's operations"},
		{stage: windows, when: both(byPlace, not(Choice.EqualWindows)), why: "windows that are read by their place are cut by TensorFlow's operations"},
		{stage: windows, when: byPlace, applied: true, why: "windows are read by their place, decoded and batched by one operation"},
		{stage: windows, applied: true, why: "files are read, checked and cut into windows by one operation"},

		{when: both(readsFiles, padsLists), applied: true, why: "files are read, checked, decoded and padded to batches by one operation"},
		{when: readsFiles, applied: true, why: "files are read, checked and decoded into batches by one operation"},
		{when: padsLists, applied: true, why: "records are decoded and padded to batches by one operation"},
		{applied: true, why: "records are decoded into batches by one operation"},
	}}
}

// parseBatches: serialized records are batched, and a batch is parsed at once.
var parseBatches = rewrite{name: "parse_batches", rules: []rule{
	{stage: windows, why: "windows are cut from parsed records"},
	{stage: chunked, why: "sequences are parsed in groups, and cut before they are batched"},
	{stage: buckets, why: "examples are put into buckets one by one"},
	{when: special, why: "the loader type has a stage that sees records one by one"},
	{when: makesImages, applied: true, why: "the images of a batch are made at once"},
	{when: singly, why: "the processing step SINGLE works on one example at a time"},
	{when: lists, applied: true, why: "LISTS are parsed for a batch at once, whatever their lengths"},
	{applied: true, why: "every tensor has the same shape in every record"},
}}

// groupBatches: several batches are parsed at once.
var groupBatches = rewrite{name: "group_batches", rules: []rule{
	{when: does(native()), why: "a batch costs the native operation no fixed time"},
	{stage: windows, why: "windows are cut from blocks of a file, whatever the batch"},
	{stage: chunked, why: "sequences are cut group by group, whatever the batch"},
	{when: not(does(parseBatches)), why: "records are parsed one by one"},
	{when: makesImages, why: "images are made batch by batch"},
	{when: lists, why: "LISTS are padded batch by batch"},
	{when: makesRows, why: "rows that processing steps make are padded batch by batch"},
	{when: remoteFiles, why: "the size of remote records is not known"},
	{applied: true, why: "up to 8 batches or 1 MiB of records are parsed at once and cut into batches afterwards"},
}}

// shuffleBytes: serialized records are shuffled, then parsed.
var shuffleBytes = rewrite{name: "shuffle_bytes", rules: []rule{
	{stage: chunked, when: func(c Choice) bool { return c.Chunks.ShuffleSeqs > 1 }, applied: true, why: parsesAlike},
	{when: func(c Choice) bool { return byPlace(c) && c.Records.Shuffling != permutation.None }, why: "records come in their order"},
	{when: not(with(shuffle)), why: "records are not shuffled"},
	{stage: windows, why: "windows are shuffled, not records"},
	{when: Choice.ComputesBuffers, applied: true, why: "the order follows from the seed and from how many records there are, so numbers are shuffled, and records are read by their place"},
	{applied: true, why: parsesAlike},
}}

const parsesAlike = "parsing is a function of the record alone, so the order is the same and the buffer smaller"

// joinFiles: one reader for all files in place of an interleave.
var joinFiles = rewrite{name: "join_files", rules: []rule{
	{stage: windows, why: "windows do not cross files"},
	{when: Choice.ReadsByPlace, why: "records are read by their place"},
	{stage: shuffle, why: "file names are shuffled and files mixed"},
	{when: Choice.ChecksNatively, applied: true, why: "files are read one after another, and Go decides only about records that cannot be decoded for sure"},
	{when: Choice.ChecksRecords, why: "every record is checked before it is decoded"},
	{applied: true, why: "files are read one after another"},
}}

// shareParse: a feature is parsed once for all its names.
var shareParse = rewrite{name: "share_parse", rules: []rule{
	{when: func(c Choice) bool { return len(c.Primaries) <= len(c.Features) }, why: "every feature has one name"},
	{applied: true, why: "a feature has several names"},
}}

// cutBlocks: all windows of several records are cut at once.
var cutBlocks = rewrite{name: "cut_blocks", shown: with(windows), rules: []rule{
	{applied: true, why: "a window is a slice of the records' joined values: up to 1,024 records or 1 MiB of them are parsed and cut at once"},
}}

// raggedRows: rows of different lengths are joined, and batches made tensors.
var raggedRows = rewrite{name: "ragged_rows", shown: either(with(windows), with(chunked), lists, makesRows), rules: []rule{
	{stage: windows, when: Choice.EqualWindows, why: "windows have one shape"},
	{stage: windows, applied: true, why: "windows differ in length"},
	{stage: chunked, when: does(native()), why: "the native operation makes the tensors"},
	{stage: chunked, applied: true, why: "rows differ in length"},
	{when: singly, why: "records are parsed one by one"},
	{when: makesRows, applied: true, why: "processing steps make rows that differ in length"},
	{when: both(does(native()), Choice.NativeTensors), why: "the native operation makes the tensors"},
	{when: does(parseBatches), applied: true, why: "LISTS differ in length"},
	{why: "records are parsed one by one"},
}}

// staticPad: whole batches are padded to shapes known in advance.
var staticPad = rewrite{name: "static_pad", shown: with(padding), rules: []rule{
	{stage: windows, when: singly, why: "windows are padded when they are batched"},
	{stage: windows, when: not(Choice.EqualWindows), why: "windows differ in length"},
	{stage: windows, applied: true, why: "every shape is known in advance"},
	{stage: chunked, why: "rows differ in length"},
	{when: makesImages, applied: true, why: "every shape is known in advance"},
	{when: singly, why: "examples are padded when they are batched"},
	{when: lists, why: "shapes are known only when a record is parsed"},
	{when: makesRows, why: "processing steps make rows that differ in length"},
	{applied: true, why: "every shape is known in advance"},
}}

// Conditions of the rules that are not methods of [Choice].

func byPlace(c Choice) bool     { return c.Records != nil }
func special(c Choice) bool     { return c.Special != nil }
func lists(c Choice) bool       { return c.HasLists() }
func makesImages(c Choice) bool { return decodesImages(c) && BatchesImages(c).Applied }
func makesRows(c Choice) bool   { return c.MakesRows() && !singly(c) }
func remoteFiles(c Choice) bool { return c.HasRemoteFiles() }

// singly reports whether processing steps see examples one by one, outside of a
// chunked_sequence, where they see records one by one.
func singly(c Choice) bool { return c.StepsSingly() && c.Chunks == nil }

func hasStrings(c Choice) bool {
	return slices.ContainsFunc(c.Features, func(f *spec.Feature) bool { return f.Kind == spec.String })
}

// readsFiles reports whether the operation that makes the batches reads the files too.
func readsFiles(c Choice) bool { return c.JoinFiles().Applied || c.ComputesOrder() }

// padsLists reports whether the operation that makes the batches pads lists.
func padsLists(c Choice) bool { return lists(c) && c.Examples().Padding != nil && c.NativeTensors() }

func with(s stage) func(Choice) bool { return s.in }

func does(r rewrite) func(Choice) bool { return func(c Choice) bool { return c.decide(r).Applied } }

func not(f func(Choice) bool) func(Choice) bool { return func(c Choice) bool { return !f(c) } }

func both(f, g func(Choice) bool) func(Choice) bool {
	return func(c Choice) bool { return f(c) && g(c) }
}

func either(all ...func(Choice) bool) func(Choice) bool {
	return func(c Choice) bool { return slices.ContainsFunc(all, func(f func(Choice) bool) bool { return f(c) }) }
}
