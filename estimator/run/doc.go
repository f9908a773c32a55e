// Package run carries out run configs in a folder, which has all results of the run:
//
//	RUN_DIR/run.json       the run config with its defaults, and what it ran on
//	RUN_DIR/checkpoints/   in TensorFlow's format
//	RUN_DIR/log.ndjson     a line for each logged step and each evaluation
//	RUN_DIR/finished.json  how the run ended; absent while it may go on
//	RUN_DIR/input.json     the stages of the input pipeline, with times after a profile
//	RUN_DIR/profile/       timelines of steps that were traced
//	RUN_DIR/export/        a SavedModel with the trained values
//
// [Open] checks a config, [Run.Train] trains or goes on, [Run.Evaluate]
// evaluates a checkpoint.
package run
