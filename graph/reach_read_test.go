package graph_test

import "millrace/internal/base/tfproto"

// hostSecret is in each file of the host and in the name of one.
const hostSecret = "135792"

// queued reads a file of the host by a reader of TensorFlow 1.
func queued(reader, file string, attrs ...any) reach {
	return reach{reader, hostSecret, func(b *reachBody) string {
		queue := b.do("FIFOQueueV2", nil, "component_types", []tfproto.DataType{str}) + ":handle:0"
		put := b.do("QueueEnqueueV2", in(queue, b.text(b.at(file))), "Tcomponents", []tfproto.DataType{str})
		from := b.do(reader, nil, attrs...) + ":reader_handle:0"
		return b.shown(b.do("ReaderReadV2", in(from, queue, "^"+put))+":value:0", str)
	}}
}

// records reads a file of the host by a dataset.
func records(op string, inputs func(b *reachBody) []string, attrs ...any) reach {
	return reach{op, hostSecret, func(b *reachBody) string { return b.first(b.dataset(op, inputs(b), attrs...)) }}
}

// readers lists ways to read the host's files.
var readers = []reach{
	{"ReadFile", hostSecret, func(b *reachBody) string {
		return b.shown(b.do("ReadFile", in(b.text(b.at("secret"))))+":contents:0", str)
	}},
	{"ReadFile of the process's environment", hostSecret, func(b *reachBody) string {
		return b.shown(b.do("ReadFile", in(b.text("/proc/self/environ")))+":contents:0", str)
	}},
	{"ReadFile of the system's users", "root:", func(b *reachBody) string {
		return b.shown(b.do("ReadFile", in(b.text("/etc/passwd")))+":contents:0", str)
	}},
	{"MatchingFiles", hostSecret, func(b *reachBody) string {
		return b.shown(b.do("MatchingFiles", in(b.text(b.at("named*"))))+":filenames:0", str)
	}},
	{"ImmutableConst", "[49 51 53 55 57 50]", func(b *reachBody) string {
		return b.shown(b.do("ImmutableConst", nil, "dtype", tfproto.DataType_DT_UINT8, "shape", dims{6}, "memory_region_name", b.at("secret"))+":tensor:0", tfproto.DataType_DT_UINT8)
	}},
	queued("WholeFileReaderV2", "secret"),
	queued("TextLineReaderV2", "secret"),
	queued("FixedLengthRecordReaderV2", "secret", "record_bytes", 6),
	queued("TFRecordReaderV2", "records"),
	records("TextLineDataset", func(b *reachBody) []string { return in(b.text(b.at("secret")), b.text(""), b.long(0)) }),
	records("TFRecordDataset", func(b *reachBody) []string { return in(b.text(b.at("records")), b.text(""), b.long(0)) }),
	records("TFRecordDatasetV2", func(b *reachBody) []string {
		return in(b.texts(dims{1}, b.at("records")), b.text(""), b.long(0), b.longs(0))
	}),
	records("FixedLengthRecordDataset", func(b *reachBody) []string {
		return in(b.text(b.at("secret")), b.long(0), b.long(6), b.long(0), b.long(0))
	}),
	records("FixedLengthRecordDatasetV2", func(b *reachBody) []string {
		return in(b.text(b.at("secret")), b.long(0), b.long(6), b.long(0), b.long(0), b.text(""))
	}),
	records("MatchingFilesDataset", func(b *reachBody) []string { return in(b.text(b.at("named*"))) }),
	records("CSVDataset", csvInputs),
	records("CSVDatasetV2", func(b *reachBody) []string { return append(csvInputs(b), b.longs()) }),
	{"InitializeTableFromTextFileV2", hostSecret, func(b *reachBody) string {
		table := b.do("HashTableV2", nil, "key_dtype", i64, "value_dtype", str) + ":table_handle:0"
		fill := b.do("InitializeTableFromTextFileV2", in(table, b.text(b.at("secret"))), "key_index", -1, "value_index", -2)
		return b.shown(b.do("LookupTableFindV2", in(table, b.long(0), b.text(""), "^"+fill), "Tin", i64, "Tout", str)+":values:0", str)
	}},
	{"GenerateVocabRemapping", "[2 1 0]", func(b *reachBody) string {
		return b.shown(b.do("GenerateVocabRemapping", in(b.text(b.at("words")), b.text(b.at("reversed"))), "new_vocab_offset", 0, "num_new_vocab", 3)+":remapping:0", i64)
	}},
	{"RestoreV2", hostSecret, func(b *reachBody) string {
		one := b.texts(dims{1}, "s")
		return b.shown(b.do("RestoreV2", in(b.text(b.at("v2")), one, b.texts(dims{1}, "")), "dtypes", []tfproto.DataType{str})+":tensors:0", str)
	}},
	{"Restore", hostSecret, func(b *reachBody) string {
		return b.shown(b.do("Restore", in(b.text(b.at("v1")), b.text("f")), "dt", f32)+":tensor:0", f32)
	}},
	{"RestoreSlice", hostSecret, func(b *reachBody) string {
		return b.shown(b.do("RestoreSlice", in(b.text(b.at("v1")), b.text("f"), b.text("")), "dt", f32)+":tensor:0", f32)
	}},
	{"LoadAndRemapMatrix", hostSecret, func(b *reachBody) string {
		m := b.do("LoadAndRemapMatrix", in(b.text(b.at("v2")), b.text("f"), b.longs(0), b.longs(), b.float(dims{0})), "num_rows", 1, "num_cols", 1)
		return b.shown(m+":output_matrix:0", f32)
	}},
}

func csvInputs(b *reachBody) []string {
	return in(b.text(b.at("secret")), b.text(""), b.long(1024), b.do("Const", nil, "dtype", boolean, "value", falseTensor)+":output:0",
		b.text(","), b.do("Const", nil, "dtype", boolean, "value", falseTensor)+":output:0", b.text(""), b.longs(), b.texts(dims{1}, ""))
}

var falseTensor = &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{false}}
