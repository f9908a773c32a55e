package graph_test

import "millrace/internal/base/tfproto"

// writes makes a reach of one node that changes the host.
func writes(op string, inputs func(b *reachBody) []string, attrs ...any) reach {
	return reach{op, "", func(b *reachBody) string { return b.done(b.do(op, inputs(b), attrs...)) }}
}

// caching describes a way to reach files: a dataset that writes the elements that it
// reads, such as a cache.
func caching(op string, inputs func(b *reachBody) []string, attrs ...any) reach {
	return reach{op, "", func(b *reachBody) string {
		return b.only(b.dataset(op, append(in(b.ownData()), inputs(b)...), attrs...))
	}}
}

// dumps makes a reach of an operation of the debugger.
func dumps(op, scheme string, t tfproto.DataType, attrs ...any) reach {
	return reach{op + " to " + scheme, "", func(b *reachBody) string {
		to := map[string]string{"file": b.at("dumped"), "grpc": b.address}[scheme]
		attrs := append([]any{"T", t, "debug_urls", strs{scheme + "://" + to}}, attrs...)
		from := b.float(dims{1}, 1)
		return b.done(b.do(op, in(from), attrs...))
	}}
}

// summarizes makes a reach of an operation that writes a summary.
func summarizes(op string, inputs func(b *reachBody) []string, attrs ...any) reach {
	return reach{op, "", func(b *reachBody) string {
		writer := b.do("SummaryWriter", nil) + ":writer:0"
		made := b.do("CreateSummaryFileWriter", in(writer, b.text(b.at("logs")), b.number(1), b.number(1), b.text("")))
		wrote := b.do(op, append(append(in(writer), inputs(b)...), "^"+made), attrs...)
		return b.done(b.do("FlushSummaryWriter", in(writer, "^"+wrote)))
	}}
}

// writers are ways to change the host.
var writers = []reach{
	writes("WriteFile", func(b *reachBody) []string { return in(b.text(b.at("written")), "x") }),
	{"WriteFile over what is there", "", func(b *reachBody) string { return b.done(b.do("WriteFile", in(b.text(b.at("secret")), "x"))) }},
	writes("SaveV2", func(b *reachBody) []string {
		return in(b.text(b.at("saved")), b.texts(dims{1}, "v"), b.texts(dims{1}, ""), "x")
	}, "dtypes", types1),
	{"ShardedFilename and SaveV2", "", func(b *reachBody) string {
		shard := b.do("ShardedFilename", in(b.text(b.at("saved")), b.number(0), b.number(1))) + ":filename:0"
		return b.done(b.do("SaveV2", in(shard, b.texts(dims{1}, "v"), b.texts(dims{1}, ""), "x"), "dtypes", types1))
	}},
	writes("Save", func(b *reachBody) []string {
		return in(b.text(b.at("saved")), b.texts(dims{1}, "v"), b.float(dims{1}, 1))
	}, "T", []tfproto.DataType{f32}),
	writes("SaveSlices", func(b *reachBody) []string {
		return in(b.text(b.at("saved")), b.texts(dims{1}, "v"), b.texts(dims{1}, ""), b.float(dims{1}, 1))
	}, "T", []tfproto.DataType{f32}),
	writes("MergeV2Checkpoints", func(b *reachBody) []string { return in(b.texts(dims{1}, b.at("v2")), b.text(b.at("merged"))) }, "delete_old_dirs", true),
	{"PrintV2", "", func(b *reachBody) string {
		return b.done(b.do("PrintV2", in("x"), "output_stream", "file://"+b.at("printed"), "end", "\n"))
	}},
	writes("DatasetToTFRecord", func(b *reachBody) []string { return in(b.ownData(), b.text(b.at("made")), b.text("")) }),
	writes("ExperimentalDatasetToTFRecord", func(b *reachBody) []string { return in(b.ownData(), b.text(b.at("made")), b.text("")) }),
	caching("CacheDataset", func(b *reachBody) []string { return in(b.text(b.at("cached"))) }),
	caching("CacheDatasetV2", func(b *reachBody) []string {
		return in(b.text(b.at("cached")), b.do("DummyMemoryCache", nil)+":handle:0")
	}),
	caching("SnapshotDataset", func(b *reachBody) []string { return in(b.text(b.at("snapshot"))) }),
	{"CreateSummaryFileWriter", "", func(b *reachBody) string {
		writer := b.do("SummaryWriter", nil) + ":writer:0"
		return b.done(b.do("CreateSummaryFileWriter", in(writer, b.text(b.at("logs")), b.number(1), b.number(1), b.text(""))))
	}},
	{"CreateSummaryDbWriter", "", func(b *reachBody) string {
		writer := b.do("SummaryWriter", nil) + ":writer:0"
		return b.done(b.do("CreateSummaryDbWriter", in(writer, b.text(b.at("database")), b.text("e"), b.text("r"), b.text("u"))))
	}},
	summarizes("WriteScalarSummary", func(b *reachBody) []string { return in(b.long(1), b.text("tag"), b.float(dims{}, 1)) }, "T", f32),
	summarizes("WriteSummary", func(b *reachBody) []string { return in(b.long(1), "x", b.text("tag"), b.text("")) }, "T", str),
	summarizes("WriteHistogramSummary", func(b *reachBody) []string { return in(b.long(1), b.text("tag"), b.float(dims{1}, 1)) }, "T", f32),
	dumps("DebugIdentity", "file", f32, "tensor_name", "t:0", "device_name", "d"),
	dumps("DebugNanCount", "file", f32, "tensor_name", "t:0", "device_name", "d"),
	dumps("DebugNumericSummary", "file", f32, "tensor_name", "t:0", "device_name", "d"),
	dumps("DebugIdentityV2", "file", f32, "tfdbg_run_id", "r", "op_name", "o", "tfdbg_context_id", "c", "tensor_debug_mode", 2),
}

// callers connect to another machine. TensorFlow tries that for ever under a lock of the
// process, so there is one, at one place, and it comes last.
var callers = []reach{dumps("DebugIdentity", "grpc", f32, "tensor_name", "t:0", "device_name", "d")}
