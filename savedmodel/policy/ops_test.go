package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"millrace/savedmodel/effect"
	"millrace/savedmodel/metagraph"
)

// opspec_gen.txt lists every operation of the runtime's library: each must have exactly
// one class.
func TestEveryOperationIsClassified(t *testing.T) {
	classes, outputs := opClasses(), metagraph.OpOutputs()
	for _, op := range slices.Sorted(maps.Keys(outputs)) {
		if classes[op] == nil {
			t.Errorf("operation %s is not in ops.txt: review it and add it to a class", op)
		}
	}
	for _, op := range slices.Sorted(maps.Keys(classes)) {
		if _, ok := outputs[op]; !ok {
			t.Errorf("operation %s is in ops.txt, but not in TensorFlow %s", op, metagraph.RuntimeVersion)
		}
	}
	if len(outputs) != 1799 {
		t.Errorf("opspec_gen.txt lists %d operations, TensorFlow 2.21.0 has 1799", len(outputs))
	}
	seen := map[string]bool{}
	for line := range strings.Lines(opsText) {
		if line = strings.TrimSpace(line); seen[line] && line != "" {
			t.Errorf("%q is twice in ops.txt", line)
		}
		seen[line] = true
	}
}

func TestClassesHaveVerdicts(t *testing.T) {
	for op, c := range opClasses() {
		if c == nil || !slices.Contains([]verdict{allow, deny, check}, c.verdict) || c.reason == "" {
			t.Fatalf("%s: class %+v", op, c)
		}
		if _, ok := conditions[c.name]; ok != (c.verdict == check) {
			t.Errorf("class %s: verdict %s, but a condition: %v", c.name, c.verdict, ok)
		}
	}
}

// Every operation that a model may use has a row in the table of effects, and only
// those.
func TestEveryOperationHasEffects(t *testing.T) {
	for op, c := range opClasses() {
		if _, ok := effect.Of(op); ok != (c.verdict != deny) {
			t.Errorf("%s is in class %s, %s: it has a row of effects: %v", op, c.name, c.verdict, ok)
		}
	}
}

// Operations that must never be in an allowed class.
func TestDangerousOperations(t *testing.T) {
	for _, op := range strings.Fields(`ReadFile WriteFile MatchingFiles PyFunc PyFuncStateless EagerPyFunc
		RpcCall RpcServer DataServiceDatasetV4 SqlDataset LMDBDataset SnapshotDatasetV2 ImmutableConst RemoteCall
		TFRecordDataset TextLineDataset CreateSummaryFileWriter DebugIdentityV3 DumpTensor Skipgram RecordInput
		LoadAndRemapMatrix GenerateVocabRemapping DistributedSave CalibrationStatisticsSaver DatasetFromGraph
		MlirPassthroughOp XlaCustomCallV2 FileSystemSetConfiguration Abort Send _Send CollectiveReduceV2`) {
		if c := opClasses()[op]; c == nil || c.verdict != deny {
			t.Errorf("%s is not denied: %+v", op, c)
		}
	}
}
