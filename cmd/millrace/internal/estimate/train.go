package estimate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator"
	"millrace/estimator/cluster"
	"millrace/estimator/run"
	"millrace/internal/base/figures"
	"millrace/internal/base/machine"
	"millrace/internal/base/terminal"
	"millrace/remote"
)

// trainFlags are the flags of train.
type trainFlags struct {
	dir     string
	steps   int64
	init    string
	changed []string
	json    bool

	quarantine cli.QuarantineFlag
	histograms int64
	profile    stepsFlag

	cluster  clusterFlags
	restarts int
}

func (p *program) trainCommand() *cobra.Command {
	var flags trainFlags
	c := &cobra.Command{
		Use:   "train RUN.json --dir RUN_DIR",
		Short: "Train a model, or go on with a training",
		Long: `Train a SavedModel as a run config says, and write all that comes of it to the
folder RUN_DIR: run.json, checkpoints in TensorFlow's format, log.ndjson, and
event files that TensorBoard shows (tensorboard --logdir RUN_DIR/events).

The same command goes on where the folder says. SIGINT and SIGTERM finish the
step, write a checkpoint and exit with 130 or 143; a second signal ends the
process at once. After a kill or a power cut what is newer than the last
checkpoint is lost and nothing else. On a CPU the result is the same, bit by
bit, as that of a run that was never interrupted.

A folder whose checkpoints are of another model, loader or seed, or were trained
with another loss, optimizer or other variables, is refused with what differs.
--allow-changed names what may: with "variables,optimizer" a training of the
head continues with all layers. The learning rate may always differ. Notes in
log.ndjson say what changed.

RUN_DIR may be a URL of s3://, gs:// or az://. The log is copied there before
each checkpoint, and every 30 s.

One process at a time trains in a folder, or the processes of the config's
cluster or of TF_CONFIG train together: each runs this command with its own
--task, and takes its part of every batch. If one fails, the others end with
exit code 8. Start all again, or give all --restarts N. With parameter servers,
which run it with --task ps:N, each worker takes other batches.

A loss that is not finite ends the run with exit code 4. The checkpoints before
it stay.

TF_DETERMINISTIC_OPS is set to 1, unless it is set already: operations whose
result depends on the order of threads are not used.`,
		Example: `  millrace train run.json --dir runs/first
  millrace train run.json --dir runs/first --steps 4000
  millrace train run.json --dir runs/second --init runs/first/checkpoints`,
		Args: cli.Exactly("RUN.json"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case flags.dir == "":
				return cli.Usagef(c, "--dir is missing")
			case c.Flags().Changed("steps") && flags.steps < 1:
				return cli.Usagef(c, "--steps must be at least 1, got %d", flags.steps)
			case c.Flags().Changed("histograms") && flags.histograms < 1:
				return cli.Usagef(c, "--histograms must be at least 1, got %d", flags.histograms)
			case flags.restarts < 0:
				return cli.Usagef(c, "--restarts must not be negative, got %d", flags.restarts)
			case flags.restarts > 0 && os.Getenv(restartedEnv) == "":
				return supervise(c.Context(), p.Program, flags.restarts)
			}
			return p.train(c.Context(), args[0], &flags)
		},
	}
	flags.cluster.add(c)
	flags.quarantine.Add(c, "default: quarantine.ndjson in RUN_DIR")
	f := c.Flags()
	f.StringVar(&flags.dir, "dir", "", "the `FOLDER` of the run, which is made if there is none, or a URL such as s3://BUCKET/RUN")
	f.Int64Var(&flags.steps, "steps", 0, "end after step `N` instead of the config's train.steps")
	f.StringVar(&flags.init, "init", "", "begin with `WEIGHTS`, in place of init in the config: a SavedModel, a checkpoint, a .weights.h5, .keras or .safetensors file")
	f.StringSliceVar(&flags.changed, "allow-changed", nil, "go on although `KEY,...` differ from the checkpoint: model, signature, loss, variables, optimizer, loader, manifest or seed")
	f.Int64Var(&flags.histograms, "histograms", 0, "write histograms of the variables, and of the gradients where the run config names an optimizer, every `N` steps")
	f.IntVar(&flags.restarts, "restarts", 0, "after a failure of another process of the cluster, or a kill, go on from the last checkpoint, at most `N` times")
	f.Var(&flags.profile, "profile", "trace the steps `FIRST:LAST` for TensorBoard, and as a timeline in RUN_DIR/profile that chrome://tracing and Perfetto show")
	f.BoolVar(&flags.json, "json", false, "print a JSON object at the end")
	return c
}

// train trains.
func (p *program) train(ctx context.Context, config string, flags *trainFlags) error {
	settings := deterministic()
	named, err := cluster.Parse(os.Getenv(cluster.Variable))
	if err != nil {
		return err
	}
	rank, server, err := flags.cluster.parsed(named)
	if err != nil {
		return err
	}
	if server {
		rank = 0 // the rank of run.Options is a worker's
	}
	p.Warm()
	r, problems, err := run.Open(config, flags.dir, &run.Options{
		Runtime: p.RuntimeOptions(), Settings: settings, Observe: flags.quarantine.Listener(), Rank: rank,
	})
	if err != nil {
		return err
	}
	p.PrintProblems(problems)
	members, err := flags.cluster.of(r, named)
	if err != nil {
		return err
	}
	p.SetGrace(trainGrace)
	told := &reporter{p: p, quiet: flags.json, steps: func() int64 { return lastStep(cmp.Or(flags.steps, r.TrainOptions().Steps), r.ExpectedSteps()) }}
	defer told.stop()
	flags.quarantine.Use(p.Program, r.Folder().Quarantine(), r.TrainPlan, r.EvaluatePlan)
	if err := p.confineTraining(r, flags, members); err != nil {
		return err
	}
	member, err := joinCluster(r, members)
	if err != nil {
		return err
	}
	if member != nil && member.Server {
		p.Warn("%s holds variables until worker 0 ends the training", &member.Spec)
		return member.Serve(ctx)
	}
	o := &run.TrainOptions{
		Steps: flags.steps, Init: flags.init, AllowChanged: flags.changed, Histograms: flags.histograms,
		Profile: flags.profile.steps, Cluster: member, Hooks: told.hooks(),
	}
	summary, err := r.Train(ctx, o)
	told.stop()
	flags.quarantine.Tell(p.Program)
	if summary == nil {
		return err
	}
	if run.Interrupted(summary, err) {
		p.SetUnfinished(fmt.Sprintf("the run goes on after step %d with the same command", summary.Step))
	}
	if err != nil {
		return err
	}
	if flags.json {
		text, err := json.Marshal(summary)
		if err != nil {
			return err
		}
		return p.Printf("%s\n", text)
	}
	if summary.Finished() {
		return p.Printf("the run is finished already: step %d, ended by %s; %s\n", summary.Step, summary.Reason(), continuation[summary.Reason()])
	}
	return p.Printf("step %d, ended by %s, %s, %s steps/s, %s examples/s\n", summary.Step, summary.Reason(),
		seconds(summary.Seconds), figures.Number(summary.StepsPerSecond), figures.Number(summary.ExamplesPerSecond))
}

// continuation says how to continue a finished run, depending on why it ended.
var continuation = map[string]string{
	estimator.EndedBySteps: "more train.steps in the run config, or --steps N, continue it",
	estimator.EndedByData:  "a loader with more epochs, and --allow-changed loader, train on the data again",
	estimator.EndedByStop:  "another stop in the run config, or none, continues it",
}

// confineTraining confines the process to the files of the training: the data, the
// model, a checkpoint to begin with, and the folder of the run, which confineTraining
// makes.
func (p *program) confineTraining(r *run.Run, flags *trainFlags, members *cluster.Spec) error {
	if !remote.IsURL(flags.dir) {
		if err := os.MkdirAll(flags.dir, 0o777); err != nil {
			return millrace.Errorf(millrace.ErrIO, "make the folder of the run: %w", err)
		}
	}
	needs := cli.LoaderNeeds(r.TrainPlan, r.EvaluatePlan)
	needs.Read = append(needs.Read, append(checkpointPaths(cmp.Or(flags.init, r.InitPath())), r.ModelDir, r.Path)...)
	needs.Write = append(needs.Write, flags.dir)
	if members != nil {
		needs.Listen, needs.Connect = append(needs.Listen, members.Port()), true
	}
	if flags.quarantine.Path != "" {
		flags.quarantine.Needs(needs)
	}
	return p.Confine(needs)
}

// checkpointPaths returns the paths that a process reads of a checkpoint: a folder, or
// the folder of the files whose names begin with a prefix.
func checkpointPaths(name string) []string {
	if name == "" || name == run.Latest || name == run.Best {
		return nil
	}
	if remote.IsURL(name) {
		return []string{name}
	}
	return []string{name, filepath.Dir(name)}
}

// lastStep returns the last step of a training, given the last step in its config and
// the one at the end of the data. 0 stands for unknown.
func lastStep(config, data int64) int64 {
	if config == 0 || data == 0 {
		return max(config, data)
	}
	return min(config, data)
}

// seconds writes a number of seconds.
func seconds(s float64) string { return figures.Seconds(time.Duration(s * float64(time.Second))) }

// classText prints the figures of the classes that have names, one line for each class.
func classText(e *estimator.Evaluation) string {
	var text strings.Builder
	for _, name := range e.Names {
		for _, c := range e.Values[name].PerClass() {
			fmt.Fprintf(&text, "  %s of %s: precision %.5g recall %.5g f1_score %.5g, %s\n", name, terminal.Line(c.Name), c.Precision, c.Recall, c.F1Score,
				figures.Of(int64(c.Examples), "example"))
		}
	}
	return text.String()
}

// deterministic asks TensorFlow for operations that give the same bits every
// time, before it is opened, and returns the modes that decide the last bits.
func deterministic() map[string]string {
	const name, oneDNN = "TF_DETERMINISTIC_OPS", "TF_ENABLE_ONEDNN_OPTS"
	if _, set := os.LookupEnv(name); !set {
		os.Setenv(name, "1")
	}
	return map[string]string{name: os.Getenv(name), oneDNN: os.Getenv(oneDNN), "cpu": machine.Vectors()}
}
