package sandbox_test

import (
	"fmt"
	"log"

	"millrace/sandbox"
)

// A service names what it needs, before it loads a model. Off leaves the process of this
// example as it is; a service passes Require, or Auto.
func ExampleRestrict() {
	protection, err := sandbox.Restrict(&sandbox.Policy{
		Read:   []string{"/opt/tensorflow", "/srv/models"},
		Listen: []uint16{8080},
	}, sandbox.Off)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(protection.Missing)
	// Output: the sandbox is off
}
