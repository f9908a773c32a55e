package training

import (
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/tfbridge"
)

// What does a checkpoint cost the steps? Between two steps only what belongs to one
// moment may happen, and everything else in the goroutine that writes:
//
//	the training                     the goroutine that writes
//	step 500
//	take the variables  (shared, not copied)
//	take the position   (one string)
//	step 501 ...                     encode the position, with its digest
//	                                 TensorFlow writes the tensors
//	                                 force to the disk, rename, remove old ones
//
// The variables share memory with the model until a step changes them; see
// [checkpoint.Values.Read].

// snapshot is one moment of a training. It is used once, because content takes over all
// its values.
type snapshot struct {
	specs     []dtype.TensorSpec // specs of the tensors
	info      checkpoint.Info
	variables []*tfbridge.Tensor
	position  func() ([]byte, error) // encodes the position; nil: there is none
	objects   string                 // "": none
	saves     int64
}

// content returns the content of the checkpoint. The caller closes its values.
func (s *snapshot) content() (*checkpoint.Content, error) {
	c := &checkpoint.Content{Specs: s.specs, Values: s.variables, Info: s.info}
	var position []byte
	var err error
	if s.position != nil {
		position, err = s.position()
	}
	if err == nil {
		err = s.addRest(c, position)
	}
	if err != nil {
		checkpoint.CloseTensors(c.Values)
		return nil, err
	}
	return c, nil
}

// addRest adds what is not a variable, in the order of training.fixed.
func (s *snapshot) addRest(c *checkpoint.Content, position []byte) error {
	text, err := tfbridge.NewStringTensor(nil, [][]byte{position})
	if err != nil {
		return err
	}
	c.Values = append(c.Values, text)
	rest := []any{s.info.Step}
	if s.objects != "" {
		rest = append(rest, s.objects, s.saves)
	}
	for _, v := range rest {
		tensor, err := tfbridge.NewTensor(v)
		if err != nil {
			return err
		}
		c.Values = append(c.Values, tensor)
	}
	return nil
}
