package spec

import (
	"millrace/loaders/decl"
	loader "millrace/loaders/spec"
)

// Config is a run config as it is written, with the defaults filled in.
type Config struct {
	decl.Object
	Model       ModelConfig       `json:"model" decl:"required" doc:"The model, and which of its signatures do what."`
	Init        InitConfigs       `json:"init" decl:"nonempty" doc:"Weights to begin with, in place of those of the model: the path of a SavedModel, a checkpoint, a file of Keras or safetensors, or an object that says more."`
	Train       TrainConfig       `json:"train" decl:"required" doc:"The data to train on, and for how long."`
	Evaluate    *EvaluateConfig   `json:"evaluate" decl:"null" doc:"How to evaluate the model between training steps; null: not at all."`
	Checkpoints CheckpointsConfig `json:"checkpoints" decl:"default={}" doc:"When checkpoints are written and which of them stay."`
	Stop        *StopConfig       `json:"stop" decl:"null" doc:"When to stop before the last step; null: never."`
	Plateau     *PlateauConfig    `json:"reduce_lr_on_plateau" decl:"null" doc:"When to lower the learning rate, as Keras's ReduceLROnPlateau does; null: never."`
	Cluster     *ClusterConfig    `json:"cluster" decl:"null" doc:"The processes that train together; null: the cluster of TF_CONFIG, or this process alone. Each runs train with --task and --trusted-network."`
	Seed        *int64            `json:"seed" decl:"null" doc:"The seed of all random choices, in place of the one of the training loader. Without either a fresh one is drawn, and kept in RUN_DIR/run.json."`
}

// ClusterConfig says which processes train together.
type ClusterConfig struct {
	decl.Object
	Worker  []string `json:"worker" decl:"required,nonempty,items.nonempty" doc:"The addresses of the processes, HOST:PORT, in the order of their numbers. Each takes its part of the rows of every batch, or with ps other batches; number 0 writes the checkpoints."`
	PS      []string `json:"ps" decl:"items.nonempty" doc:"The addresses of parameter servers, HOST:PORT, in the order of their numbers: they hold the variables, and each worker changes them whenever it has derivatives. Without it the workers train by all-reduce."`
	Timeout float64  `json:"timeout" decl:"default=600,above=0" doc:"How many seconds a process waits for the others, at the start and in each step, before it fails."`
}

// ModelConfig selects the model and its signatures.
type ModelConfig struct {
	decl.Object
	SavedModel string          `json:"saved_model" decl:"required,nonempty" doc:"The folder of a SavedModel. A relative path starts at the run config's folder."`
	Train      SignatureConfig `json:"train" decl:"default={}" doc:"The signature that trains."`
	Evaluate   NamedSignature  `json:"evaluate" decl:"default={}" doc:"The signature that evaluates; the one of predict by default."`
	Predict    NamedSignature  `json:"predict" decl:"default={}" doc:"The signature that predicts; serving_default by default."`
}

// SignatureConfig is the signature that trains.
type SignatureConfig struct {
	decl.Object
	Signature string                          `json:"signature" decl:"" doc:"The key of the signature: one that changes the variables, train by default; or, with a loss of some type, any that computes predictions, the one of predict by default."`
	Loss      decl.Either[string, LossConfig] `json:"loss" decl:"nonempty" doc:"The scalar output of the signature that is the loss, loss by default: the signature changes the variables itself. Or a loss to add: the signature is opened, and derivatives and an optimizer join it."`
	Losses    []LossConfig                    `json:"losses" decl:"nonempty,most=100" doc:"Several losses, such as those of several outputs, in the place of loss. Their weighted sum is trained; each is reported by the name of its predictions and _loss."`
	Optimizer *OptimizerConfig                `json:"optimizer" decl:"null" doc:"How the variables change by the derivatives. Required with a loss of some type, and only there."`
	Variables []string                        `json:"variables" decl:"items.nonempty" doc:"Patterns for the names of the variables to train, where * stands for any text. Without it: all variables of floating point that the loss depends on and that Python marked as trainable."`
	ClipNorm  float64                         `json:"clip_norm" decl:"default=0,min=0" doc:"The largest global norm of the gradients, which are scaled together; 0: any."`
	L2        float64                         `json:"l2" decl:"default=0,min=0" doc:"The loss grows by this times the sum of the squares of the trained variables."`
}

// InitConfigs is a path, or an object with one.
type InitConfigs = decl.Either[string, InitConfig]

// NamedSignature names a signature.
type NamedSignature struct {
	decl.Object
	Signature string `json:"signature" decl:"" doc:"The key of a signature."`
}

// Loader is a loader config in place, or the path of one.
type Loader = decl.Either[string, loader.Config]

// TrainConfig says what to train on.
type TrainConfig struct {
	decl.Object
	Loader   Loader   `json:"loader" decl:"required" doc:"A loader config, in place or as a path that starts at the run config's folder."`
	Steps    *int64   `json:"steps" decl:"null,min=1" doc:"The training ends after this step; null: when the loader ends, or by stop."`
	LogEvery int64    `json:"log_every" decl:"default=50,min=1" doc:"Steps from one line of the log to the next."`
	Keep     []string `json:"keep" decl:"items.nonempty" doc:"Tensors of the loader that nothing uses, so that a loader may serve several purposes."`
}

// EvaluateConfig says how to evaluate.
type EvaluateConfig struct {
	decl.Object
	Loader     Loader         `json:"loader" decl:"required" doc:"A loader config, in place or as a path that starts at the run config's folder. Its epochs must be a number, or steps must be given."`
	EverySteps int64          `json:"every_steps" decl:"default=500,min=1" doc:"Training steps from one evaluation to the next. There is also one at the end."`
	Steps      *int64         `json:"steps" decl:"null,min=1" doc:"An evaluation ends after this many batches; null: when the loader ends."`
	Metrics    []MetricConfig `json:"metrics" decl:"most=100" doc:"The metrics, besides the mean of the loss."`
	Keep       []string       `json:"keep" decl:"items.nonempty" doc:"Tensors of the loader that nothing uses."`
}

// MetricConfig is a metric.
type MetricConfig struct {
	decl.Object
	Name        string   `json:"name" decl:"required,nonempty,label=metric" doc:"The name under which it is reported."`
	Type        string   `json:"type" decl:"required,enum=accuracy|top_k|precision|recall|auc|mean|mean_squared_error|mean_absolute_error|perplexity|confusion_matrix|binary_accuracy|f1_score|pr_auc|precision_at_recall|root_mean_squared_error|mean_absolute_percentage_error|r2_score|mean_iou" doc:"What is computed, as Keras defines it."`
	Labels      string   `json:"labels" decl:"" doc:"What is right: an output of the signature or a tensor of the loader. Required for every type but mean."`
	Predictions string   `json:"predictions" decl:"required,nonempty" doc:"What the model says: an output of the signature or a tensor of the loader."`
	Weights     string   `json:"weights" decl:"" doc:"How much each label counts: an output of the signature or a tensor of the loader, such as a mask. Without it all count alike."`
	K           int64    `json:"k" decl:"default=5,min=1" doc:"For top_k: among how many classes the label has to be."`
	Threshold   float64  `json:"threshold" decl:"default=0.5,above=0,below=1" doc:"For precision, recall, binary_accuracy and f1_score: above it a prediction is positive. f1_score of several classes takes the class with the highest score unless a threshold is given."`
	Average     string   `json:"average" decl:"default=macro,enum=macro|micro|weighted" doc:"For f1_score: the mean over the classes; over all predictions; or over the classes, each weighted by its labels."`
	Recall      *float64 `json:"recall" decl:"null,above=0,max=1" doc:"For precision_at_recall, which requires it: what the recall has to be at least."`
	ClassNames  Names    `json:"class_names" decl:"nonempty,most=4096,items.nonempty" doc:"For confusion_matrix: the names of the classes in their order, or the path of a text file with one a line. The matrix has them as names of its rows and columns, and each class has its precision, recall and F1 score."`
	From        string   `json:"from" decl:"default=logits,enum=logits|probabilities" doc:"For perplexity: what the predictions are. For metrics of probabilities, which these are unless it says logits: accuracy of one output, binary_accuracy, precision, recall, f1_score, auc, pr_auc, precision_at_recall."`
}

// Names is a list of names, or the path of a text file that has one a line. A relative path
// starts at the run config's folder.
type Names = decl.Either[string, []string]

// CheckpointsConfig says when checkpoints are written.
type CheckpointsConfig struct {
	decl.Object
	EverySteps int64       `json:"every_steps" decl:"default=500,min=1" doc:"Training steps from one checkpoint to the next. There is also one at the end, and one where a signal stops the run."`
	Keep       int64       `json:"keep" decl:"default=5,min=1" doc:"How many of the newest checkpoints stay."`
	Best       *BestConfig `json:"best" decl:"null" doc:"By which metric one checkpoint is the best, which stays too; null: none is."`
}

// BestConfig says by which metric one checkpoint is better than another.
type BestConfig struct {
	decl.Object
	Metric string `json:"metric" decl:"required,nonempty" doc:"loss, or the name of a metric of evaluate."`
	Mode   string `json:"mode" decl:"default=auto,enum=max|min|auto" doc:"Whether more or less is better; auto: less of loss, errors and perplexity, more of everything else."`
}

// StopConfig says when to stop early.
type StopConfig struct {
	decl.Object
	Metric   string  `json:"metric" decl:"required,nonempty" doc:"loss, or the name of a metric of evaluate."`
	Mode     string  `json:"mode" decl:"default=auto,enum=max|min|auto" doc:"Whether more or less is better; auto as in checkpoints.best."`
	Patience int64   `json:"patience" decl:"default=5,min=1" doc:"The run stops after this many evaluations in a row that are no better than the best one."`
	MinDelta float64 `json:"min_delta" decl:"default=0,min=0" doc:"By how much an evaluation must be better to count as better."`
}

// Schema returns the JSON Schema of run configs, for editors and other programs.
// The rules that join several keys or files are not in it.
func Schema() ([]byte, error) {
	return decl.Schema(&Config{}, decl.SchemaOptions{
		Title: "Millrace run config", Description: "What to train, on which data, how to evaluate it and when to stop.",
	})
}

// LossConfig is a loss that is added to a signature.
type LossConfig struct {
	decl.Object
	Type        string  `json:"type" decl:"required,enum=sparse_softmax_cross_entropy|softmax_cross_entropy|sigmoid_cross_entropy|binary_focal_crossentropy|categorical_focal_crossentropy|kl_divergence|poisson|ctc|mean_squared_error|mean_absolute_error|mean_absolute_percentage_error|mean_squared_logarithmic_error|huber|log_cosh|cosine_similarity|hinge|squared_hinge|categorical_hinge|output" doc:"What is computed, as Keras defines it. output is the mean of an output that is a loss itself, such as the sum of a Keras model's losses."`
	Predictions string  `json:"predictions" decl:"required,nonempty" doc:"The output of the signature that the loss is of."`
	Labels      string  `json:"labels" decl:"" doc:"The tensor of the loader that is right. Required for every type but output."`
	Weights     string  `json:"weights" decl:"" doc:"The tensor of the loader that says how much each example counts. Without it all count alike."`
	Weight      float64 `json:"weight" decl:"default=1,above=0" doc:"How much the loss counts among several, as in Keras's loss_weights."`
	From        string  `json:"from" decl:"default=logits,enum=logits|probabilities" doc:"For a cross entropy: what the predictions are."`
	Delta       float64 `json:"delta" decl:"default=1,above=0" doc:"For huber: where it goes from a parabola to a line."`

	ClassWeights   []float64 `json:"class_weights" decl:"items.min=0,most=1000000" doc:"How much the examples of each class count, in the order of the classes. The labels name the class, by number or as one-hot; classes beyond the list count 1."`
	LabelSmoothing float64   `json:"label_smoothing" decl:"default=0,min=0,max=1" doc:"For softmax_cross_entropy, sigmoid_cross_entropy and the focal losses: the share of each label that all classes get alike."`
	Gamma          float64   `json:"gamma" decl:"default=2,above=0" doc:"For the focal losses: the power of the wrong part of a prediction."`
	Alpha          float64   `json:"alpha" decl:"default=0.25,above=0,max=1" doc:"For categorical_focal_crossentropy, and for binary_focal_crossentropy with apply_class_balancing: the weight of the positive class."`
	ClassBalancing bool      `json:"apply_class_balancing" decl:"default=false" doc:"For binary_focal_crossentropy: use alpha."`
}

// all returns the losses to add, with the path of each; none where the signature trains
// by itself.
func (c *SignatureConfig) all() []*LossConfig {
	if c.Loss.B != nil {
		return []*LossConfig{c.Loss.B}
	}
	var list []*LossConfig
	for i := range c.Losses {
		list = append(list, &c.Losses[i])
	}
	return list
}

// InitConfig selects the initial weights of a run.
type InitConfig struct {
	decl.Object
	Path         string         `json:"path" decl:"required,nonempty" doc:"A SavedModel, a checkpoint of TensorFlow, a .weights.h5 or .keras file of Keras, or a .safetensors file. A relative path starts at the run config's folder."`
	Variables    []string       `json:"variables" decl:"items.nonempty,nonempty" doc:"Patterns for the names of the variables to set, where * stands for any text. Without it: all."`
	Map          []RenameConfig `json:"map" decl:"most=10000" doc:"Other names for tensors of the file."`
	SkipMismatch bool           `json:"skip_mismatch" decl:"default=false" doc:"Variables for which the file has no value, or one of another shape, keep the model's; false: they are an error."`
}

// RenameConfig gives tensors other names.
type RenameConfig struct {
	decl.Object
	From string `json:"from" decl:"required,nonempty" doc:"A name in the file, with at most one * for any text."`
	To   string `json:"to" decl:"required,nonempty" doc:"The name in the model; a * stands for the same text."`
}
