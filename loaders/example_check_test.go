package loaders_test

import (
	"bytes"
	"fmt"

	"millrace/loaders"
	"millrace/loaders/spec"
)

func ExampleCheck() {
	plan, problems := loaders.Check("testdata/songs/mistakes.json", nil)
	fmt.Println(plan != nil)
	fmt.Println(problems)
	// Output:
	// false
	// testdata/songs/mistakes.json:3:11: args: missing key "num_prefetch"
	// testdata/songs/mistakes.json:9:5: args.num_prefech: unknown key "num_prefech"; did you mean "num_prefetch"?
	// testdata/songs/mistakes.json:14:18: args.padding[0].tensor: no tensor named "audoi"; did you mean "audio"?
	// testdata/songs/mistakes.json:17:19: args.max_window: must be at least min_window (4096), got 2048
}

func ExampleCheck_model() {
	names := &loaders.ModelNames{Inputs: []string{"audio", "genre"}}
	_, problems := loaders.Check("testdata/songs/songs.json", &loaders.CheckOptions{Model: names})
	fmt.Println(problems)
	// Output:
	// testdata/songs/songs.json:10:25: args.primary_features: no feature feeds the model's input "genre"
}

func ExamplePlan() {
	plan, problems := loaders.Check("testdata/songs/songs.json", nil)
	if plan == nil {
		fmt.Println(problems)
		return
	}
	fmt.Println(plan.Type, len(plan.Files), "file")
	for _, t := range plan.Tensors {
		fmt.Println(t.Name, t.DType, t.Shape)
	}
	// Output:
	// continuous_sequence 1 file
	// audio float32 [-1]
}

func ExamplePlan_Explanation() {
	plan, problems := loaders.Check("testdata/songs/songs.json", nil)
	if plan == nil {
		fmt.Println(problems)
		return
	}
	for _, stage := range plan.Explanation().Stages {
		fmt.Printf("%s: %s\n", stage.Name, stage.What)
		for _, t := range stage.Tensors {
			fmt.Println("   ", t.Name, t.DType, t.Shape)
		}
	}
	// Output:
	// files: 1 file, in order
	// read: one file after another, buffers of 1,048,576 bytes
	// parse: 1 feature
	//     audio float32 [-1]
	// window: 4,096 to 8,192 positions, one every 2,048, tail: keep
	//     audio float32 [-1]
	// repeat: without end
	// padded batch: 8 examples
	//     audio float32 [8 -1]
	// prefetch: 2 batches
}

func ExampleReadConfig() {
	config, problems := spec.ReadConfig("testdata/songs/songs.json")
	if config == nil {
		fmt.Println(problems)
		return
	}
	args := config.Args.(*spec.ContinuousArgs)
	fmt.Println(config.Type, args.TargetBatchSize, args.MinWindow, args.Tail)
	// Output: continuous_sequence 8 4096 keep
}

func ExampleReadManifest() {
	manifest, problems := spec.ReadManifest("testdata/songs/data/__manifest__.json")
	if manifest == nil {
		fmt.Println(problems)
		return
	}
	for _, f := range manifest.Features {
		fmt.Println(f.Name, f.DType, f.DeserializeType, f.VarLen)
	}
	// Output:
	// samples float32 float true
	// genre int32 int false
}

func ExampleReadModelNames() {
	names, problems := spec.ReadModelNames("testdata/songs/model.json")
	if names == nil {
		fmt.Println(problems)
		return
	}
	fmt.Println(names.Inputs, names.Outputs)
	// Output: [audio] [next]
}

func ExampleSchema() {
	schema, err := spec.Schema(spec.ManifestSchema)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bytes.Contains(schema, []byte(`"allow_var_len"`)))
	// Output: true
}
