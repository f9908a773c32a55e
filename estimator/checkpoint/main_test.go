package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func init() {
	if os.Getenv(childEnv) != "" {
		runtime.LockOSThread() // strace counts the system calls of each thread
	}
}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		saveEach()
		os.Exit(0)
	}
	os.Exit(tfmain.RunMixed(m))
}

// childEnv makes the test binary a process that saves checkpoints. It prints "ready",
// then reads the names of folders, saves one checkpoint in each and prints the result
// in a line.
const childEnv = "MILLRACE_TEST_SAVES"

func saveEach() {
	if _, err := tfbridge.Open(nil); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		answer := outcome(saveOne(in.Text(), newStep))
		for _, err := fmt.Println(answer); err != nil; _, err = fmt.Println(answer) { // it may be this write that a test has fail
		}
	}
}

// saveOne saves the checkpoint of a step in a folder, of which one stays.
func saveOne(dir string, step int64) error {
	s, err := Open(dir)
	if err != nil {
		return err
	}
	c, err := someContent(step)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	err = s.Save(c, Keep{Newest: 1})
	for _, v := range c.Values {
		v.Close()
	}
	return errors.Join(err, s.Close())
}

// someContent is a checkpoint of one variable, whose value is the step.
func someContent(step int64) (*Content, error) {
	v, err := tfbridge.NewTensor(step)
	if err != nil {
		return nil, err
	}
	c := &Content{Specs: []dtype.TensorSpec{{Name: "v", DType: dtype.Int64, Shape: dtype.ScalarShape()}}, Values: []*tfbridge.Tensor{v}}
	c.Info.Step = step
	return c, nil
}

// outcome describes the result of saving in a line.
func outcome(err error) string {
	switch {
	case err == nil:
		return "saved"
	case errors.Is(err, millrace.ErrCheckpoint) && errors.Is(err, millrace.ErrIO):
		return fmt.Sprintf("refused %q", err)
	}
	return fmt.Sprintf("wrong class %q", err)
}
