package spec_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/proto"

	"millrace/estimator"
	"millrace/estimator/losses"
	"millrace/estimator/metrics"
	"millrace/estimator/optimizer"
	"millrace/estimator/spec"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/fixture"
	loader "millrace/loaders/spec"
)

// check checks a run config over points, with MODEL for the classifier's folder.
func check(t *testing.T, config string) (*spec.Run, string) {
	t.Helper()
	d := fixture.Points(t, 1, nil)
	model, err := filepath.Abs("../../testdata/models/classifier")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(d.Dir, "run.json")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(config, "MODEL", model)), 0o666); err != nil {
		t.Fatal(err)
	}
	run, problems := spec.Check(path, nil)
	if len(problems) == 0 {
		return run, ""
	}
	return run, strings.ReplaceAll(problems.Error(), d.Dir+"/", "")
}

// The defaults of a run config, and of its missing parts.
func TestDefaults(t *testing.T) {
	run, problems := check(t, `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, "train": {"loader": "loader.json"},
		"evaluate": {"loader": "loader.json"}}`)
	if run == nil {
		t.Fatal(problems)
	}
	o := run.TrainOptions()
	if o.Signature != "train" || o.Loss != "loss" || o.Objective != nil || o.LogEvery != 50 || o.CheckpointEvery != 500 || o.Keep != 5 ||
		o.EvaluateEvery != 500 || o.Steps != 0 || o.Evaluate.Signature != "evaluate" || o.Best != nil || o.Stop != nil {
		t.Errorf("options %+v", o)
	}
	run, problems = check(t, `{"model": {"saved_model": "MODEL",
		"train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "momentum"}}},
		"train": {"loader": "loader.json"}, "evaluate": {"loader": "loader.json"}, "stop": {"metric": "loss"}}`)
	if run == nil {
		t.Fatal(problems)
	}
	o = run.TrainOptions()
	c := run.Config.Model.Train.Optimizer
	if o.Signature != "serving_default" || o.Objective == nil || *c.Momentum != 0.9 || *c.LearningRate.A != 0.01 || c.Rho != nil ||
		!o.Stop.Min || o.Stop.Patience != 5 {
		t.Errorf("options %+v, optimizer %+v", o, c)
	}
}

// Each type of an optimizer and of a schedule in the schema has its rule, with Keras's
// defaults, and the settings of a config are set in the rule.
func TestOptimizers(t *testing.T) {
	build := func(t *testing.T, optimizer string) optimizer.Optimizer {
		t.Helper()
		run, problems := check(t, `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": `+optimizer+`}}, "train": {"loader": "loader.json"}}`)
		if run == nil {
			t.Fatal(problems)
		}
		return run.TrainOptions().Objective.Optimizer
	}
	for text, want := range map[string]optimizer.Optimizer{
		`{"type": "lion"}`: optimizer.NewLion(), `{"type": "nadam"}`: optimizer.NewNadam(), `{"type": "adamax"}`: optimizer.NewAdamax(),
		`{"type": "adadelta"}`: optimizer.NewAdadelta(), `{"type": "ftrl"}`: optimizer.NewFtrl(), `{"type": "lamb"}`: optimizer.NewLamb(),
		`{"type": "adafactor"}`: optimizer.NewAdafactor(), `{"type": "adamw"}`: optimizer.NewAdamW(), `{"type": "sgd"}`: optimizer.NewSGD(),
	} {
		if got := build(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
	got := build(t, `{"type": "lion", "beta_2": 0.5, "learning_rate": {"type": "cosine_restarts", "initial_learning_rate": 0.1, "first_decay_steps": 5, "warmup_steps": 3},
		"weight_decay": 0.1, "exclude_from_weight_decay": ["bias"], "clipvalue": 2, "use_ema": true, "ema_momentum": 0.5, "ema_overwrite_frequency": 7,
		"gradient_accumulation_steps": 4, "loss_scale": {"initial_scale": 16}}`)
	want := optimizer.NewLion()
	want.Beta2 = 0.5
	want.Common = optimizer.Common{
		LearningRate: optimizer.Warmup{Steps: 3, Then: optimizer.CosineDecayRestarts{InitialLearningRate: 0.1, FirstDecaySteps: 5, TMul: 2, MMul: 1}},
		WeightDecay:  0.1, ExcludeFromWeightDecay: []string{"bias"}, ClipValue: 2, UseEMA: true, EMAMomentum: 0.5, EMAOverwriteFrequency: 7,
		GradientAccumulationSteps: 4, LossScale: &optimizer.LossScale{InitialScale: 16, DynamicGrowthSteps: 2000},
	}
	if !reflect.DeepEqual(got, optimizer.Optimizer(want)) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Every key of a schedule arrives in the optimizer.
func TestSchedules(t *testing.T) {
	for text, want := range map[string]optimizer.Schedule{
		`"constant", "learning_rate": 0.5`: optimizer.Constant(0.5),
		`"exponential", "initial_learning_rate": 0.5, "decay_steps": 3, "decay_rate": 0.25, "staircase": true`:                  optimizer.ExponentialDecay{InitialLearningRate: 0.5, DecaySteps: 3, DecayRate: 0.25, Staircase: true},
		`"inverse_time", "initial_learning_rate": 0.5, "decay_steps": 3, "decay_rate": 0.25, "staircase": true`:                 optimizer.InverseTimeDecay{InitialLearningRate: 0.5, DecaySteps: 3, DecayRate: 0.25, Staircase: true},
		`"cosine", "initial_learning_rate": 0.5, "decay_steps": 3, "alpha": 0.25`:                                               optimizer.CosineDecay{InitialLearningRate: 0.5, DecaySteps: 3, Alpha: 0.25},
		`"warmup_cosine", "initial_learning_rate": 0.5, "decay_steps": 3, "alpha": 0.25, "warmup_target": 2, "warmup_steps": 7`: optimizer.CosineDecay{InitialLearningRate: 0.5, DecaySteps: 3, Alpha: 0.25, WarmupTarget: 2, WarmupSteps: 7},
		`"cosine_restarts", "initial_learning_rate": 0.5, "first_decay_steps": 3, "t_mul": 4, "m_mul": 0.75, "alpha": 0.25`:     optimizer.CosineDecayRestarts{InitialLearningRate: 0.5, FirstDecaySteps: 3, TMul: 4, MMul: 0.75, Alpha: 0.25},
		`"polynomial", "initial_learning_rate": 0.5, "decay_steps": 3, "end_learning_rate": 0.25, "power": 2, "cycle": true`:    optimizer.PolynomialDecay{InitialLearningRate: 0.5, DecaySteps: 3, EndLearningRate: 0.25, Power: 2, Cycle: true},
		`"piecewise", "boundaries": [3], "values": [0.5, 0.25], "warmup_steps": 7, "warmup_from": 0.125`:                        optimizer.Warmup{Steps: 7, From: 0.125, Then: optimizer.PiecewiseConstantDecay{Boundaries: []int64{3}, Values: []float64{0.5, 0.25}}},
	} {
		run, problems := check(t, `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"},
			"optimizer": {"type": "sgd", "learning_rate": {"type": `+text+`}}}}, "train": {"loader": "loader.json"}}`)
		if run == nil {
			t.Fatal(problems)
		}
		if got := run.TrainOptions().Objective.Optimizer.(*optimizer.SGD).LearningRate; !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// Every key that says when a run logs, saves, evaluates and stops arrives in its options.
func TestTrainOptions(t *testing.T) {
	run, problems := check(t, `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}},
		"train": {"loader": "loader.json", "steps": 11, "log_every": 12}, "evaluate": {"loader": "loader.json", "steps": 13, "every_steps": 14,
		"metrics": [{"type": "accuracy", "name": "right", "labels": "id", "predictions": "scores"}]},
		"checkpoints": {"every_steps": 15, "keep": 16, "best": {"metric": "right", "mode": "max"}},
		"stop": {"metric": "loss", "mode": "min", "patience": 17, "min_delta": 0.5}}`)
	if run == nil {
		t.Fatal(problems)
	}
	o := run.TrainOptions()
	got := fmt.Sprint(o.Steps, o.LogEvery, o.Evaluate.Steps, o.EvaluateEvery, o.CheckpointEvery, o.Keep, *o.Best, *o.Stop, len(o.Evaluate.Metrics), o.Evaluate.Metrics[0].Name)
	want := fmt.Sprint(11, 12, 13, 14, 15, 16, estimator.Best{Metric: "right"},
		estimator.Stop{Best: estimator.Best{Metric: "loss", Min: true}, Patience: 17, MinDelta: 0.5}, 1, "right")
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A config's settings of a loss are set in the objective, except those that the loss's
// type does not use.
func TestLosses(t *testing.T) {
	run, problems := check(t, `{"model": {"saved_model": "MODEL", "train": {"optimizer": {"type": "sgd"}, "losses": [
		{"type": "binary_focal_crossentropy", "predictions": "scores", "labels": "id", "from": "probabilities", "gamma": 3, "alpha": 0.5, "apply_class_balancing": true,
			"label_smoothing": 0.1, "class_weights": [1, 2], "weight": 0.5},
		{"type": "output", "predictions": "digit"}]}}, "train": {"loader": "loader.json"}}`)
	if run == nil {
		t.Fatal(problems)
	}
	got := run.TrainOptions().Objective
	want := losses.Loss{
		Type: losses.BinaryFocal, Probabilities: true, Gamma: 3, Alpha: 0.5, ClassBalancing: true, LabelSmoothing: 0.1, ClassWeights: []float64{1, 2},
	}
	if !reflect.DeepEqual(got.Loss, want) || got.Predictions != "scores" || got.Labels != "id" || got.Weight != 0.5 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if more := []estimator.Term{{Loss: losses.Loss{Type: losses.ModelOutput}, Predictions: "digit", Weight: 1}}; !reflect.DeepEqual(got.More, more) {
		t.Errorf("got %+v\nwant %+v", got.More, more)
	}
}

// A model with only a training signature can be trained, but not evaluated.
func TestTrainsOnly(t *testing.T) {
	model := t.TempDir()
	if err := os.CopyFS(model, os.DirFS("../../testdata/models/classifier")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(model, "fingerprint.pb")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(model, "saved_model.pb")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	saved := &tfproto.SavedModel{}
	if err := proto.Unmarshal(text, saved); err != nil {
		t.Fatal(err)
	}
	for key := range saved.MetaGraphs[0].SignatureDef {
		if key != "train" && !strings.HasPrefix(key, "__") {
			delete(saved.MetaGraphs[0].SignatureDef, key)
		}
	}
	if text, err = proto.Marshal(saved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	config := `{"model": {"saved_model": "` + model + `"}, "train": {"loader": "loader.json"}`
	if run, problems := check(t, config+"}"); run == nil {
		t.Error(problems)
	}
	if run, problems := check(t, config+`, "evaluate": {"loader": "loader.json"}}`); run != nil || !strings.Contains(problems, `"serving_default"`) {
		t.Errorf("evaluated without a signature: %s", problems)
	}
}

// A problem is reported at its place, with a remedy.
func TestProblems(t *testing.T) {
	const loader = `"train": {"loader": "loader.json"}`
	tests := []struct{ name, config, want string }{
		{"no such signature", `{"model": {"saved_model": "MODEL", "train": {"signature": "fit"}}, ` + loader + `}`,
			`model.train.signature: `},
		{"no such loss", `{"model": {"saved_model": "MODEL", "train": {"loss": "los"}}, ` + loader + `}`,
			`run.json:1:`},
		{"no such output", `{"model": {"saved_model": "MODEL", "train": {"loss": "los"}}, ` + loader + `}`,
			`model.train.loss: signature "train" has no output "los" to be the loss; did you mean "loss"?`},
		{"optimizer without loss", `{"model": {"saved_model": "MODEL", "train": {"optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.optimizer: it goes with a loss of some type`},
		{"list of losses", `{"model": {"saved_model": "MODEL", "train": {"loss": [{"type": "huber", "predictions": "scores", "labels": "id"}], "optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.loss: several losses have the key "losses"`},
		{"loss without optimizer", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}}}, ` + loader + `}`,
			`model.train: missing key "optimizer"`},
		{"key of another optimizer", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "adam", "rho": 0.5}}}, ` + loader + `}`,
			`model.train.optimizer.rho: "adam" does not use it`},
		{"no such weights", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "init": "bert.safetensors"}`, `init: there is no file or checkpoint "bert.safetensors"`},
		{"no such weights in a folder of a long name", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "init": "` + strings.Repeat("folder/", 20) + `bert.safetensors"}`, `/bert.safetensors"`},
		{"names of weights", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "init": {"path": "MODEL", "map": [{"from": "a", "to": "b"}, {"from": "a", "to": "b*"}], "variables": ["["]}}`,
			`init.map[1]: from may have one *, and to no more than from`},
		{"patterns of weights", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "init": {"path": "MODEL", "variables": ["["]}}`, `init.variables[0]: "[" is not a pattern`},
		{"two forms of a loss", `{"model": {"saved_model": "MODEL", "train": {"signature": "serving_default", "loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "losses": [{"type": "huber", "predictions": "scores", "labels": "id"}], "optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.losses: loss is given too; only one of the two is used`},
		{"two losses of an output", `{"model": {"saved_model": "MODEL", "train": {"signature": "serving_default", "losses": [{"type": "huber", "predictions": "scores", "labels": "id"}, {"type": "hinge", "predictions": "scores", "labels": "id"}], "optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.losses[1].predictions: another loss is of output "scores" too`},
		{"loss without labels", `{"model": {"saved_model": "MODEL", "train": {"losses": [{"type": "poisson", "predictions": "scores"}], "optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.losses[0]: missing key "labels"`},
		{"losses without an optimizer", `{"model": {"saved_model": "MODEL", "train": {"losses": [{"type": "poisson", "predictions": "scores", "labels": "id"}]}}, ` + loader + `}`,
			`model.train: missing key "optimizer"`},
		{"output of several that is not there", `{"model": {"saved_model": "MODEL", "train": {"losses": [{"type": "output", "predictions": "score"}], "optimizer": {"type": "sgd"}}}, ` + loader + `}`,
			`model.train.losses[0].predictions: signature "serving_default" has no output "score"; did you mean "scores"?`},
		{"key of another rule", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "ftrl", "beta_1": 0.5}}}, ` + loader + `}`,
			`model.train.optimizer.beta_1: "ftrl" does not use it`},
		{"two ways to clip", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "lion", "clipnorm": 1, "clipvalue": 2}}}, ` + loader + `}`,
			`model.train.optimizer.clipvalue: "clipnorm" is given too; only one of them is used`},
		{"not an expression", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "lamb", "exclude_from_weight_decay": ["bias", "["]}}}, ` + loader + `}`,
			`model.train.optimizer.exclude_from_weight_decay[1]: not a regular expression`},
		{"plateau of a schedule", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "adam", "learning_rate": {"type": "polynomial", "initial_learning_rate": 1, "decay_steps": 3}}}}, ` + loader + `, "evaluate": {"loader": "loader.json"}, "reduce_lr_on_plateau": {"metric": "loss"}}`,
			`reduce_lr_on_plateau: the learning rate has a schedule, which decides it in each step`},
		{"plateau without an evaluation", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "adam"}}}, ` + loader + `, "reduce_lr_on_plateau": {"metric": "loss"}}`,
			`reduce_lr_on_plateau.metric: there is no evaluation to take the metric "loss" from`},
		{"schedule lacks a key", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "adam", "learning_rate": {"type": "cosine", "decay_steps": 3}}}}, ` + loader + `}`,
			`model.train.optimizer.learning_rate: missing key "initial_learning_rate", which "cosine" needs`},
		{"no such variables", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "sgd"}, "variables": ["*", "weight", "z["]}}, ` + loader + `}`,
			`model.train.variables[1]: no variable of the model is named "weight"; `},
		{"a bad pattern", `{"model": {"saved_model": "MODEL", "train": {"loss": {"type": "huber", "predictions": "scores", "labels": "id"}, "optimizer": {"type": "sgd"}, "variables": ["*", "z["]}}, ` + loader + `}`,
			`model.train.variables[1]: "z[" is not a pattern`},
		{"no evaluation", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "stop": {"metric": "accuracy"}}`,
			`stop.metric: there is no evaluation to take the metric "accuracy" from; add evaluate`},
		{"no such metric", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json"}, "checkpoints": {"best": {"metric": "acuracy"}}}`,
			`checkpoints.best.metric: there is no metric "acuracy"`},
		{"metric without labels", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json", "metrics": [{"name": "a", "type": "auc", "predictions": "scores"}]}}`,
			`evaluate.metrics[0]: metric "a": missing key "labels"`},
		{"precision at no recall", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json", "metrics": [{"name": "a", "type": "precision_at_recall", "labels": "id", "predictions": "scores"}]}}`,
			`evaluate.metrics[0]: metric "a": missing key "recall"`},
		{"recall too high", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json", "metrics": [{"name": "a", "type": "precision_at_recall", "recall": 1.5, "labels": "id", "predictions": "scores"}]}}`,
			`evaluate.metrics[0].recall: metric "a": must be`},
		{"keys of other metrics", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json", "metrics": [{"name": "a", "type": "rmse", "labels": "id", "predictions": "scores"}, {"name": "b", "type": "r2_score", "from": "logits", "labels": "id", "predictions": "scores"}]}}`,
			`evaluate.metrics[1].from: metric "b": "r2_score" does not use it`},
		{"metric's labels are no tensor", `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, ` + loader + `, "evaluate": {"loader": "loader.json", "metrics": [{"name": "a", "type": "auc", "labels": "digit", "predictions": "scores"}]}}`,
			`args.primary_features: no feature is named "digit", which metric "a" of run.json needs; the features are "id", "xs"`},
		{"a tensor that nothing takes", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "evaluate": {"loader": "loader.json"}}`,
			`the model has no input or output named "id"`},
		{"no such file", `{"model": {"saved_model": "MODEL"}, "train": {"loader": "other.json"}}`, `other.json: read loader config: no such file`},
		{"wrong loader in place", `{"model": {"saved_model": "MODEL"}, "train": {"loader": {"type": "independent", "args": {"epocs": 1}}}}`,
			`train.loader.args.epocs: unknown key "epocs"; did you mean "epochs"?`},
		{"unknown key", `{"model": {"saved_model": "MODEL"}, ` + loader + `, "sed": 1}`, `sed: unknown key "sed"; did you mean "seed"?`},
	}
	for _, tt := range tests {
		run, problems := check(t, tt.config)
		if run != nil || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: got %s\nwant %s", tt.name, problems, tt.want)
		}
	}
}

// The keys of a metric are set in the metric. Logits are assumed only if "from" is
// given, and f1_score has a threshold only if one is given.
func TestMetricKeys(t *testing.T) {
	run, problems := check(t, `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, "train": {"loader": "loader.json"}, "evaluate": {"loader": "loader.json", "metrics": [
		{"name": "a", "type": "auc", "labels": "id", "predictions": "id"},
		{"name": "b", "type": "auc", "labels": "id", "predictions": "id", "from": "logits"},
		{"name": "c", "type": "f1_score", "labels": "id", "predictions": "scores", "average": "micro"},
		{"name": "d", "type": "f1_score", "labels": "id", "predictions": "id", "threshold": 0.5},
		{"name": "e", "type": "precision_at_recall", "labels": "id", "predictions": "id", "recall": 0.9}]},
		"stop": {"metric": "e"}}`)
	if run == nil {
		t.Fatal(problems)
	}
	list := run.EvaluateOptions().Metrics
	for i, want := range []metrics.Spec{
		{Type: metrics.AUC, Average: "macro", Threshold: 0.5}, {Type: metrics.AUC, Average: "macro", Threshold: 0.5, Logits: true},
		{Type: metrics.F1Score, Average: "micro"}, {Type: metrics.F1Score, Average: "macro", Threshold: 0.5},
		{Type: metrics.PrecisionAtRecall, Average: "macro", Threshold: 0.5, Recall: 0.9},
	} {
		want.K = 5
		if !reflect.DeepEqual(list[i].Spec, want) {
			t.Errorf("metric %s: %+v, want %+v", list[i].Name, list[i].Spec, want)
		}
	}
}

// The schema accepts what Check accepts, and refuses what it can.
func TestSchema(t *testing.T) {
	text, err := spec.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("run.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("run.json")
	if err != nil {
		t.Fatal(err)
	}
	const model = `"model": {"saved_model": "m", "train": {"loss": {"type": "huber", "predictions": "p", "labels": "l"}, "optimizer": {"type": "sgd", "learning_rate": 0.1}}}`
	for config, good := range map[string]bool{
		`{` + model + `, "train": {"loader": "a.json", "steps": null}, "stop": null, "seed": 3}`:                  true,
		`{"model": {"saved_model": "m", "train": {"loss": "loss"}}, "train": {"loader": "a.json"}}`:               true,
		`{` + model + `, "train": {"loader": "a.json", "steps": 0}}`:                                              false,
		`{` + model + `, "train": {"loader": 3}}`:                                                                 false,
		`{"train": {"loader": "a.json"}}`:                                                                         false,
		`{` + model + `, "train": {"loader": "a.json"}, "evaluate": {"loader": "b", "metrics": [{"name": "x"}]}}`: false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(config))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v", config, err)
		}
	}
}

// The data of a training are processed in mode train, those of an evaluation in mode eval,
// whatever their configs say.
func TestModes(t *testing.T) {
	run, problems := check(t, `{"model": {"saved_model": "MODEL", "evaluate": {"signature": "evaluate"}}, "train": {"loader": "loader.json"},
		"evaluate": {"loader": "loader.json"}}`)
	if run == nil {
		t.Fatal(problems)
	}
	if train, evaluate := run.TrainPlan.Mode, run.EvaluatePlan.Mode; train != loader.ModeTrain || evaluate != loader.ModeEval {
		t.Errorf("modes %q and %q", train, evaluate)
	}
}
