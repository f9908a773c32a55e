package serve

import "millrace/tfbridge"

// printVersions prints what TensorFlow Serving prints for --version, in its form.
func (p *program) printVersions() error {
	r, err := tfbridge.Open(p.RuntimeOptions())
	if err != nil {
		return err
	}
	return p.Printf("TensorFlow ModelServer: millrace %s\nTensorFlow Library: %s\n", p.Version, r.Version())
}
