package main

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/cmd/millrace/internal/dataservice"
	"millrace/cmd/millrace/internal/datasets"
	"millrace/cmd/millrace/internal/estimate"
	"millrace/cmd/millrace/internal/ops"
	"millrace/cmd/millrace/internal/runtimes"
	"millrace/cmd/millrace/internal/serve"
)

const rootLong = `Millrace runs TensorFlow input pipelines and models. A JSON config says which
TFRecord files to read and how; a SavedModel predicts over them. There is no
Python in the process.

Start with:
  millrace runtime install              get TensorFlow's library, once
  millrace inspect DATASET_DIR          show the files and features of a dataset
  millrace inspect MODEL_DIR            show the signatures of a model
  millrace index DATASET_DIR            remember where every record is
  millrace check CONFIG                 find every problem in a config
  millrace predict CONFIG --model DIR --out FILE
  millrace train RUN.json --dir RUN_DIR     train, and go on after a stop
  millrace serve --model NAME=DIR       answer TensorFlow Serving's clients`

const rootExit = `

Exit codes:
  0   done
  1   a test of millrace ops test failed
  2   the command line, a config, a manifest or a list file is wrong
  3   data is corrupt or truncated, or does not match the manifest
  4   the model is missing, broken or unsafe, or does not match the config
  5   a checkpoint is missing or broken
  6   a limit is exceeded
  7   an i/o error, or the TensorFlow runtime is missing or broken
  70  internal error
  130, 143  stopped by SIGINT, SIGTERM (129: SIGHUP)
  134       a crash of Go or TensorFlow (SIGABRT)
  141       the reader of standard output closed it (SIGPIPE)`

// root returns the command with all its subcommands.
func root(p *cli.Program) *cobra.Command {
	p.Version = buildVersion()
	c := cli.Group(&cobra.Command{
		Use:           "millrace",
		Short:         "Run TensorFlow input pipelines and models",
		Long:          rootLong + rootExit,
		Version:       p.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
	})
	p.AddFlags(c)
	c.AddCommand(datasets.Commands(p)...)
	c.AddCommand(estimate.Commands(p)...)
	c.AddCommand(dataservice.Commands(p)...)
	c.AddCommand(serve.Command(p), runtimes.Command(p), ops.Command(p), versionCommand(p))
	return c
}
