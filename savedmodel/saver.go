package savedmodel

import "regexp"

// What Python writes to save and restore a model's variables is part of every
// SavedModel. In a function (TensorFlow 2) or beside everything else
// (TensorFlow 1) it looks like this, where saver_def names the three corners:
//
//	filename ──┬─ StringJoin("_temp/part") ── ShardedFilename ──┬─ SaveV2
//	           │                                                └─ Pack ──┐
//	           ├─────────────────────────────────── MergeV2Checkpoints ◄──┴─ save
//	           └─ RestoreV2 ── AssignVariableOp ... ─────────────────────── restore
//
// These operations read and write files, so they are allowed in this shape
// only: every file name is made of the filename tensor in the ways shown, and
// neither a signature nor the init operation reaches any of them. The restore
// operation may read, from exactly the filename, which is fed at load; it may
// not write. A program that runs the save operation itself feeds the name.
//
// A TensorFlow 1 export may hold more savers than its own, left over from
// training. Their filename is a constant, "model". They are allowed too, where
// nothing at all reaches them.

// temporaryPart matches what a saver puts after the filename: the places of
// the parts before they are merged.
var temporaryPart = regexp.MustCompile(`^(\.part|_temp/part|_temp_[0-9a-f]{32}/part)$`)

// defaultFilename is what a saver of TensorFlow 1 writes to when it is told
// nothing else.
const defaultFilename = "model"

// savesModel allows the saver's writing, which only a program that asks for it
// by name can run.
func (j *judgement) savesModel(s suspect) bool {
	if j.signatures.has(s) || j.init.has(s) || j.restore.has(s) {
		return false
	}
	if s.node.op == "MergeV2Checkpoints" && !j.isSaverFile(s.caller, s.input(1), 0) {
		return false
	}
	return j.isSaverFile(s.caller, s.input(0), 0)
}

// restoresModel allows reading the checkpoint that is fed at load. It notes the
// tensors read, where they are written in the model.
func (j *judgement) restoresModel(s suspect) bool {
	if j.signatures.has(s) || j.init.has(s) {
		return false
	}
	file := j.comesFrom(s.caller, s.input(0))
	if !j.restore.has(s) {
		return file.kind == originCheckpoint || isLeftover(s.caller, file)
	}
	if s.node.op != "RestoreV2" || file.kind != originCheckpoint {
		return false
	}
	j.r.restored = append(j.r.restored, j.comesFrom(s.caller, s.input(1)).values...)
	return true
}

// isLeftover reports whether a file name is that of a saver which nothing uses.
func isLeftover(fn *function, o origin) bool {
	return fn == nil && o.kind == originConst && len(o.values) == 1 && o.values[0] == defaultFilename
}

// isSaverFile reports whether a saver made a file name from its filename.
func (j *judgement) isSaverFile(fn *function, input string, depth int) bool {
	if depth > maxTraceDepth {
		return false
	}
	if o := j.comesFrom(fn, input); o.kind == originCheckpoint || isLeftover(fn, o) {
		return true
	}
	n, port, ok := j.producer(fn, input)
	in := n.dataInputs()
	if !ok || port != 0 || len(in) == 0 {
		return false
	}
	switch n.op {
	case "Identity", "ShardedFilename":
		return j.isSaverFile(fn, in[0], depth+1)
	case "StringJoin":
		separator, literal := attrString(n.attr("separator"))
		return len(in) == 2 && separator == "" && (literal || n.attr("separator") == nil) &&
			j.isTemporaryPart(fn, in[1]) && j.isSaverFile(fn, in[0], depth+1)
	case "Pack":
		for _, part := range in {
			if !j.isSaverFile(fn, part, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// isTemporaryPart reports whether a string is one that a saver puts after the
// filename, or one of two that it chooses from.
func (j *judgement) isTemporaryPart(fn *function, input string) bool {
	if n, _, ok := j.producer(fn, input); ok && n.op == "Select" && len(n.dataInputs()) == 3 {
		return j.isTemporaryPart(fn, n.dataInputs()[1]) && j.isTemporaryPart(fn, n.dataInputs()[2])
	}
	o := j.comesFrom(fn, input)
	return o.kind == originConst && len(o.values) == 1 && temporaryPart.MatchString(o.values[0])
}
