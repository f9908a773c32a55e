// Package convert makes datasets of TFRecords out of files of other formats.
//
// # How it works
//
// The question: what is the type of a column? CSV and NDJSON do not declare it, and a
// sample of rows may mislead: the first text may be in the last row. And how many rows
// are there? The number is needed to write N shards of equal size, and to show the
// remaining time.
//
// So there are two passes over each input. The first, the survey, reads all rows, and
// finds the columns and their number of rows; formats with a schema answer it from
// there. The second writes:
//
//	reader              workers                 writer
//	blocks of rows  ->  rows to Examples    ->  records in the order of the rows,
//	                    (several at once)       cut into shards
//
// The records and the shards depend only on the inputs and the options. So a stopped
// conversion continues after its last whole shard (package loaders/writer), without
// converting earlier rows again.
//
// # Types
//
// A [Column] has the known properties of a column, and [merge] joins those of two rows
// or two files. An integer and a float make a float. In CSV, where everything is text,
// a number and a text make a text; elsewhere that is an error.
package convert
