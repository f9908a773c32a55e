package spec

import (
	"strings"
	"testing"

	"millrace/loaders/decl"
	"millrace/loaders/loadertype"
)

// nthArgs are the keys of a loader type.
type nthArgs struct {
	N int64 `json:"n" decl:"required,min=1" doc:"One of n records."`
}

func (*nthArgs) Check(*loadertype.Context) loadertype.Stage { return nil }

// The keys of a type in package loadertype are keys of the arguments, in the schema and where
// two configs are compared.
func TestOwnArgs(t *testing.T) {
	args := own[nthArgs]().(*ownArgs[nthArgs, *nthArgs])
	args.Own.N, args.TargetBatchSize = 7, 8
	if text := textOfArgs(args); text["n"] != "7" || text["target_batch_size"] != "8" || text["Own"] != "" {
		t.Errorf("the arguments are %v", text)
	}
	schema, err := decl.Schema(&struct {
		Args ownArgs[nthArgs, *nthArgs] `json:"args" decl:"" doc:"The arguments."`
	}{}, decl.SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"n": {`, `"target_batch_size": {`, `"#/$defs/nthArgs"`} {
		if !strings.Contains(string(schema), want) {
			t.Errorf("the schema has no %s:\n%s", want, schema)
		}
	}
}
