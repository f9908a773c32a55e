package gradients

import (
	"maps"
	"slices"
)

// rules holds the rule of each type of operation. It is filled by tables, one for
// each file of rules.
var rules = func() map[string]rule {
	all := map[string]rule{}
	for _, table := range []map[string]rule{
		unaryRules, binaryRules, reductionRules, matrixRules, shapeRules, sliceRules, gatherRules,
		activationRules, convolutionRules, poolingRules, listRules,
	} {
		maps.Copy(all, table)
	}
	return all
}()

// Rules returns the types of the operations that have a derivative, sorted.
func Rules() []string {
	types := slices.AppendSeq(slices.Clone(control), maps.Keys(rules))
	slices.Sort(types)
	return types
}

// control holds the types of operations that call functions.
var control = []string{"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}

// ruleOf returns the rule of a type of operation, nil if there is none. The rules
// of control flow are not in a table, because they use all rules themselves.
func ruleOf(typ string) rule {
	switch typ {
	case "PartitionedCall", "StatefulPartitionedCall":
		return callRule
	case "If", "StatelessIf", "Case", "StatelessCase":
		return branchRule
	case "While", "StatelessWhile":
		return whileRule
	}
	return rules[typ]
}

// constant holds the types of operations whose derivative is zero, or whose outputs
// do not depend on the values of their inputs.
var constant = map[string]bool{
	"StopGradient": true, "ZerosLike": true, "OnesLike": true, "Shape": true, "ShapeN": true, "Size": true, "Rank": true,
	"Floor": true, "Ceil": true, "Round": true, "Rint": true, "Sign": true, "FloorDiv": true, "ArgMax": true, "ArgMin": true,
	"Equal": true, "NotEqual": true, "Less": true, "LessEqual": true, "Greater": true, "GreaterEqual": true, "ApproximateEqual": true,
	"IsNan": true, "IsInf": true, "IsFinite": true, "LogicalAnd": true, "LogicalOr": true, "LogicalNot": true, "All": true, "Any": true,
	"OneHot": true, "Range": true, "LinSpace": true, "Where": true, "BroadcastGradientArgs": true, "Assert": true, "NoOp": true,
	"RandomUniform": true, "RandomStandardNormal": true, "TruncatedNormal": true, "StatelessRandomUniformV2": true,
	"StatelessRandomNormalV2": true, "StatelessTruncatedNormalV2": true, "Bucketize": true, "SearchSorted": true,
	"TensorListReserve": true, "EmptyTensorList": true, "TensorListLength": true, "TensorListElementShape": true,
}

// Constant returns the types of the operations whose derivative is zero, sorted.
func Constant() []string { return slices.Sorted(maps.Keys(constant)) }
