package address

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// own is the environment variable of a test's own process: the test's name and its
// addresses.
const own = "MILLRACE_TEST_OWN_PROCESS"

// OwnProcess runs the calling test once more, in a process that ends with it: TensorFlow's
// servers cannot be stopped. There it returns n free addresses. In the first process it
// returns nil once the other has ended, and the test returns at once.
func OwnProcess(t *testing.T, n int) []string {
	t.Helper()
	if words := strings.Fields(os.Getenv(own)); len(words) > 0 && words[0] == t.Name() {
		return words[1:]
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), own+"="+t.Name()+" "+strings.Join(Free(t, n), " "))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
	return nil
}
