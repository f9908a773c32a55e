package opgen

import "millrace/internal/base/tfproto"

// ArgType returns what an input or output holds, as comments say it: "float32",
// "list of N × T".
func ArgType(def *tfproto.OpDef_ArgDef) string { return argKind(arg{def: def}) }

// AttrValues returns which values an attribute takes, as comments say it:
// "at least 1", "a list of data types".
func AttrValues(def *tfproto.OpDef_AttrDef) string { return attrKind(def) }

// Value returns an attribute's value as comments show it.
func Value(v *tfproto.AttrValue) string { return value(v) }
