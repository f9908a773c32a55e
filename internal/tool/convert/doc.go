// Package convert makes datasets of TFRecords out of files of other formats.
//
// # How it works
//
// The question: which type has a column? CSV and NDJSON do not say, and a sample of
// rows may mislead: the first text may be in the last row. And how many rows are
// there? Without the number nobody can cut them into N shards of one size, or show how
// much time is left.
//
// So there are two passes over each input. The first, the survey, reads all rows, and
// finds the columns and their number of rows; formats with a schema answer it from
// there. The second writes:
//
//	reader              workers                 writer
//	blocks of rows  ->  rows to Examples    ->  records in the order of the rows,
//	                    (several at once)       cut into shards
//
// The records, and where shards are cut, depend on the inputs and the options alone. So
// a conversion that was stopped goes on after its last whole shard (package
// loaders/writer), without converting the rows before again.
//
// # Types
//
// A [Column] is what is known of a column, and [merge] joins what two rows, or two
// files, say of it. An integer and a float are a float. In CSV, where everything is
// text, a number and a text are a text; elsewhere that is an error.
package convert
