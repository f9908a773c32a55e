package policy

import (
	"regexp"

	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
)

// Every SavedModel holds operations that save and restore its variables. TensorFlow 2
// puts them into functions, TensorFlow 1 into the main graph. saver_def names three
// tensors of this picture, filename, save and restore:
//
//	filename ──┬─ StringJoin("_temp/part") ── ShardedFilename ──┬─ SaveV2
//	           │                                                └─ Pack ──┐
//	           ├─────────────────────────────────── MergeV2Checkpoints ◄──┴─ save
//	           └─ RestoreV2 ── AssignVariableOp ... ─────────────────────── restore
//
// These operations read and write files, so they are allowed in this shape only.
// Every file name is made from the filename tensor as shown. Neither a signature
// nor the init operation reaches them. The restore operation reads from exactly
// the filename, which is fed at load, and writes nothing. A program that runs the
// save operation feeds the filename itself.
//
// A TensorFlow 1 export may contain more savers, left over from training. Their
// filename is a constant, "model". They are allowed too if they are unreachable.

// temporaryPart matches the suffixes of the files that a saver writes before it
// merges them.
var temporaryPart = regexp.MustCompile(`^(\.part|_temp/part|_temp_[0-9a-f]{32}/part)$`)

// savesModel allows the saver to write. Only a program that asks for the save
// operation by name runs it.
func (p *Checker) savesModel(s suspect) bool {
	if p.signatures.has(s) || p.init.has(s) || p.restore.has(s) {
		return false
	}
	if s.node.Op == "MergeV2Checkpoints" && !p.isSaverFile(s.caller, s.input(1), 0) {
		return false
	}
	return p.isSaverFile(s.caller, s.input(0), 0)
}

// restoresModel allows reading the checkpoint that is fed at load. It records the names
// of the tensors to read, if the model contains them.
func (p *Checker) restoresModel(s suspect) bool {
	if p.signatures.has(s) || p.init.has(s) {
		return false
	}
	file := p.comesFrom(s.caller, s.input(0))
	if !p.restore.has(s) {
		return file.kind == originCheckpoint || isLeftover(s.caller, file)
	}
	if s.node.Op != "RestoreV2" || file.kind != originCheckpoint {
		return false
	}
	p.restored = append(p.restored, p.comesFrom(s.caller, s.input(1)).values...)
	return true
}

// isLeftover reports whether a file name belongs to a saver left over from training.
func isLeftover(fn *metagraph.Function, o origin) bool {
	return fn == nil && o.kind == originConst && len(o.values) == 1 && o.values[0] == defaultFilename
}

// isSaverFile reports whether a saver made a file name from its filename.
func (p *Checker) isSaverFile(fn *metagraph.Function, input string, depth int) bool {
	if depth > MaxTraceDepth {
		return false
	}
	if o := p.comesFrom(fn, input); o.kind == originCheckpoint || isLeftover(fn, o) {
		return true
	}
	n, port, ok := p.producer(fn, input)
	in := n.DataInputs()
	if !ok || port != 0 || len(in) == 0 {
		return false
	}
	switch n.Op {
	case "Identity", "ShardedFilename":
		return p.isSaverFile(fn, in[0], depth+1)
	case "StringJoin":
		separator, literal := message.AttrString(n.Attr("separator"))
		return len(in) == 2 && separator == "" && (literal || n.Attr("separator") == nil) &&
			p.isTemporaryPart(fn, in[1]) && p.isSaverFile(fn, in[0], depth+1)
	case "Pack":
		for _, part := range in {
			if !p.isSaverFile(fn, part, depth+1) {
				return false
			}
		}
		return true
	}
	return false
}

// isTemporaryPart reports whether a string is a suffix that a saver appends to the
// filename, or a choice between two such suffixes.
func (p *Checker) isTemporaryPart(fn *metagraph.Function, input string) bool {
	if n, _, ok := p.producer(fn, input); ok && n.Op == "Select" && len(n.DataInputs()) == 3 {
		return p.isTemporaryPart(fn, n.DataInputs()[1]) && p.isTemporaryPart(fn, n.DataInputs()[2])
	}
	o := p.comesFrom(fn, input)
	return o.kind == originConst && len(o.values) == 1 && temporaryPart.MatchString(o.values[0])
}
