// Package writer writes datasets: shards of TFRecords, with the manifest and the index
// files that loaders read.
//
//	type Song struct {
//		Title   string    `example:"title"`
//		Samples []float32 `example:"samples"`
//	}
//
//	w, err := writer.Structs[Song]("songs", nil)
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	for _, song := range songs {
//		if err := w.Write(&song); err != nil {
//			return err
//		}
//	}
//	return w.Commit()
//
// # Whole or not at all
//
// The question: a dataset is a folder of many files. A program that is killed half-way
// must leave nothing that a loader takes for the whole, and long work should not be
// lost.
//
// So the dataset is written in a hidden folder beside the place where it goes, and
// [Writer.Commit] renames that folder. A rename is done whole or not at all:
//
//	.songs.millrace-part/         while it is written, and after a kill
//	  part-00000.tfrecords        a whole shard, with its index
//	  part-00000.tfrecords.millrace-index
//	  part-00001.tfrecords.open   the shard that is being written
//	  progress.json               the whole shards, with Options.Resume
//	songs/                        after Commit; progress.json is gone, and
//	                              __manifest__.json is there
//
// With [Options.Resume] progress.json is written again after each shard. It tells a
// later Writer how many records are safe ([Writer.Records]), and its caller continues
// with the record after them. The folder is locked while a Writer has it.
//
// Only one goroutine at a time may use a Writer. Several processes may write different
// datasets; a second one that wants the same is refused.
package writer
