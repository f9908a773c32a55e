package doctor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"millrace"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/install"
	"millrace/tfbridge"
)

// processor checks the instruction sets.
func (e *examination) processor() {
	if err := runtimedir.CheckCPU(); err != nil {
		e.fail("processor", err, "use a machine with a newer processor, or a TensorFlow compiled for this one: --runtime DIR")
		return
	}
	e.add("processor", OK, "", "%d processors (%s) with the instructions that TensorFlow needs", runtime.NumCPU(), runtime.GOARCH)
}

// files finds the runtime's directory.
func (e *examination) files() (dir string, ok bool) {
	dir, err := tfbridge.FindRuntime(e.Runtime)
	if err != nil {
		e.fail("files", err, runtimedir.Remedy)
		return "", false
	}
	e.add("files", OK, "", "%s", millrace.Quote(dir))
	return dir, true
}

// hashes compares the runtime with the installed hashes.
func (e *examination) hashes(dir string) bool {
	const check, again = "hashes", runtimedir.Remedy + " --force"
	in, err := runtimedir.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		e.add(check, Warn, "nothing, if you trust it; or "+runtimedir.Remedy, "not installed by millrace, so there are no hashes to compare these libraries with")
		return true
	}
	if err == nil {
		err = in.Verify(true)
	}
	switch {
	case err != nil:
		e.fail(check, err, again)
		return false
	case !in.Pinned:
		e.add(check, Warn, "nothing, if you trust it; or "+again, "the libraries are unchanged since they were installed, but this millrace was not tested with them")
	default:
		e.add(check, OK, "", "the libraries of TensorFlow %s (%s) are the ones that this millrace was tested with", in.Version, in.Variant)
	}
	return true
}

// opens tries the runtime in a separate process.
func (e *examination) opens(ctx context.Context, dir string) {
	const again = runtimedir.Remedy + " --force"
	trial, err := e.probe(ctx, dir)
	if err == nil && trial.Error != "" {
		err = errors.New(trial.Error)
	}
	if err != nil {
		e.fail("libraries", err, again)
		return
	}
	e.add("libraries", OK, "", "both libraries open and have every function that millrace calls; TensorFlow %s", trial.Version)
	e.prelinked(dir, trial)
	e.operations(dir, trial)
	if trial.GraphError != "" {
		e.fail("graph", errors.New(trial.GraphError), again)
		return
	}
	e.add("graph", OK, "", "a graph of three operations gives the right result")
	e.devices(dir, trial.Devices)
}

// prelinked reports whether the opened libraries are prelinked.
func (e *examination) prelinked(dir string, trial *Trial) {
	const check = "prelinked"
	in, err := runtimedir.Read(dir)
	if err != nil || runtimedir.Pinned().PrelinkedPins(in) == nil {
		return // this millrace does not prelink these libraries
	}
	_, err = runtimedir.Pinned().Prelinked(in, true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(check, Warn, runtimedir.Remedy, "the libraries have no prelinked copies; everything works, but each start takes longer")
	case err != nil:
		e.add(check, Warn, runtimedir.Remedy+" --force", "the prelinked copies of the libraries are not used, so each start takes longer: %v", err)
	case !trial.Prelinked:
		e.add(check, Warn, "unset "+tfbridge.PrelinkedEnv, "the environment turns the prelinked copies of the libraries off, so each start takes longer")
	default:
		e.add(check, OK, "", "the libraries were opened as prelinked copies, which makes starts shorter")
	}
}

// operations checks the library of our own operations.
func (e *examination) operations(dir string, trial *Trial) {
	const check, works = "operations", "everything works, but slower"
	if trial.OperationsError != "" {
		e.add(check, Warn, oplibrary.Remedy, "millrace's dataset operations do not load; %s: %s", works, trial.OperationsError)
		return
	}
	if trial.Operations != "" {
		e.add(check, OK, "", "%s", millrace.Quote(trial.Operations))
		return
	}
	if err := install.CanBuildOperations(dir, e.Operations); err != nil {
		e.add(check, Warn, "", "there is no library of millrace's dataset operations, and it cannot be built here; %s: %v", works, err)
		return
	}
	others, _ := filepath.Glob(filepath.Join(dir, oplibrary.Folder, "libmillrace_datasets-*.so"))
	if len(others) > 0 {
		e.add(check, Warn, oplibrary.Remedy, "%s belongs to another version of millrace or TensorFlow; %s without the operations", millrace.Quote(others[0]), works)
		return
	}
	e.add(check, Warn, oplibrary.Remedy, "there is no library of millrace's dataset operations; %s", works)
}

// devices lists the devices. It warns if a runtime for GPUs finds no GPU.
func (e *examination) devices(dir string, devices []tfbridge.Device) {
	var names []string
	gpus := 0
	for _, device := range devices {
		if device.Type == "GPU" {
			gpus++
		}
		names = append(names, strings.TrimPrefix(device.Name, "/job:localhost/replica:0/task:0/device:"))
	}
	if in, err := runtimedir.Read(dir); err == nil && in.Variant == runtimedir.CUDA && gpus == 0 {
		e.add("devices", Warn, "install NVIDIA's driver and check it with nvidia-smi; --verbose shows TensorFlow's log", "the runtime is for GPUs, but finds no GPU")
		return
	}
	e.add("devices", OK, "", "%s", strings.Join(names, ", "))
}
