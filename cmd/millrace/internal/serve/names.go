package serve

import (
	"cmp"
	"path"
	"path/filepath"

	"millrace/tfbridge"
)

// The names of TensorFlow Serving's program and of the script that its image starts. A manifest
// that names them works with an image that has them as links to millrace.
const (
	servingName    = "tensorflow_model_server"
	servingStarter = "tf_serving_entrypoint.sh"
)

// Arguments returns the arguments of a command line, whose first element is the
// program. By the names of TensorFlow Serving the program is the command serve with
// TensorFlow Serving's defaults: it listens on all addresses, and by the name of the
// program only for gRPC. Like the script it reads MODEL_NAME and MODEL_BASE_PATH from
// the environment.
func Arguments(line []string, getenv func(string) string) []string {
	if len(line) == 0 {
		return nil
	}
	given := line[1:]
	switch filepath.Base(line[0]) {
	case servingName:
		return append([]string{"serve", "--host=0.0.0.0", "--rest_api_port=0"}, given...)
	case servingStarter:
		name := cmp.Or(getenv("MODEL_NAME"), "model")
		base := path.Join(cmp.Or(getenv("MODEL_BASE_PATH"), "/models"), name)
		return append([]string{"serve", "--host=0.0.0.0", "--model_name=" + name, "--model_base_path=" + base}, given...)
	}
	return given
}

// printVersions prints what TensorFlow Serving prints for --version, in its form.
func (p *program) printVersions() error {
	r, err := tfbridge.Open(p.RuntimeOptions())
	if err != nil {
		return err
	}
	return p.Printf("TensorFlow ModelServer: millrace %s\nTensorFlow Library: %s\n", p.Version, r.Version())
}
